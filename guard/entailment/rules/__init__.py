"""What literal comparison adds to a model's judgement."""
