"""Read sources by their form, so that the judge gets table rows, record fields and list items as full premises."""
