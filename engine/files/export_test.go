package files

import "context"

// StoreActs stores the acts of the audit stream once.
func (f *Files) StoreActs(ctx context.Context) error { return keeper{f}.store(ctx) }
