"""What knows English: closed word classes, stems, figures and dates in any spelling. Nothing here judges."""
