"""What an audit takes where there are very many records, models or classes and models cost nothing."""
