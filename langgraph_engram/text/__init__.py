"""What can be read from English text without a model: words, sentences, names, questions, statements."""
