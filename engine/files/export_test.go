package files

import "context"

// Keeper returns what stores the acts of the audit stream that it has not stored yet.
func (f *Files) Keeper() (store func(context.Context) error) { return (&keeper{Files: f}).store }
