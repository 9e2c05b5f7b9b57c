// Package languages answers one question: how does a text of a page behind a link read in the language of the person?
//
// Each file in texts is a language: its name is the code of the language, such as de, and it maps keys to texts.
// A text has placeholders, such as {name}. A key that ends with .one or .other is a form of a plural; a language
// has the forms that its plural rules need. A new language is a new file.
package languages
