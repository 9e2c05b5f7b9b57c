// Package browser tests what people see in a browser: it drives headless Chromium over the real
// fanfold on private servers. It is a module of its own, so that no other package needs what drives
// Chromium.
package browser
