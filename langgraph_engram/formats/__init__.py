"""Input formats: messages, files, data sets and the arguments of calls, validated and turned into domain objects."""
