package config

// TestKinds are the kinds of the command. The external tests set them: package kinds imports this
// one.
var TestKinds Kinds
