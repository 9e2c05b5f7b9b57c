package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// late delays answers for a while.
func late(ctx context.Context, p testmain.Proxy, lasts time.Duration) error {
	return poison(ctx, p, lasts, `{"name":"%s","type":"latency","stream":"downstream","attributes":{"latency":60,"jitter":60}}`)
}

// swallow makes the connections half-open for a while: both sides send, and no data arrives. New
// connections are half-open, too. At the end all of them break.
func swallow(ctx context.Context, p testmain.Proxy, lasts time.Duration) error {
	return poison(ctx, p, lasts,
		`{"name":"%s","type":"timeout","stream":"downstream","attributes":{"timeout":0}}`,
		`{"name":"%s","type":"timeout","stream":"upstream","attributes":{"timeout":0}}`)
}

func poison(ctx context.Context, p testmain.Proxy, lasts time.Duration, toxics ...string) error {
	for i, text := range toxics {
		name := fmt.Sprintf("toxic%d-%d", i, time.Now().UnixNano())
		if err := p.Poison(ctx, fmt.Sprintf(text, name)); err != nil {
			return err
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			_ = p.Cure(ctx, name)
		}()
	}
	elapse(ctx, lasts)
	return nil
}

// cut breaks the connections and refuses new ones for a while.
func cut(ctx context.Context, p testmain.Proxy, lasts time.Duration) error {
	if err := p.Stop(ctx); err != nil {
		return err
	}
	elapse(ctx, lasts)
	return p.Start(context.WithoutCancel(ctx))
}

// elapse waits for d or until ctx ends.
func elapse(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
