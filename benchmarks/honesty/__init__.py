"""Where the numbers could mislead: simulations of what an audit claims, with the truth known."""
