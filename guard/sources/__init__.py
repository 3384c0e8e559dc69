"""Sources read by their form: a row of a table, a field of a record or an item of a list says itself to the judge."""
