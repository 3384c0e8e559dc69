"""Rules of English: closed word classes, stems, full stops, phrases, lead-ins. Nothing here judges."""
