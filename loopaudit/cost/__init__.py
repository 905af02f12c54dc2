"""Who and what the tokens and the money went to, and which budgets they broke."""
