"""Q² (Honovich et al., EMNLP 2021): questions about the claim, answered from claim and source, answers compared."""
