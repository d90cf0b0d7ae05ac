"""What collection costs beside the training itself, and what a second core gains."""
