// Package browser tests what people see in a browser: headless Chromium opens the pages of a real fanfold
// on private servers. It is a module of its own, so that no other package needs a driver for Chromium.
package browser
