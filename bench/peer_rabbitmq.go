package main

import (
	"context"
	"errors"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/internal/testenv"
)

// rabbitMQ fans out with a fanout exchange and one durable queue for each listener;
// messages are persistent. A listener takes what has come, up to a batch, writes
// and counts all of it in one pipeline of transactions, publishes the jobs that are
// complete to the queue of the folds, and acknowledges the batch as one when the
// broker has confirmed them; meanwhile it works on the next batch. So nothing is
// acknowledged before its effect; a message that comes twice would be counted twice.
type rabbitMQ struct {
	listeners           int
	redis               *redis.Client
	consume, publishing *amqp.Connection // the broker may slow down those that publish
}

const (
	rabbitBatch    = 100
	rabbitPrefetch = 300 // three batches: one at work, one to be confirmed, one on its way
	rabbitPush     = 1_000
	rabbitExchange = "bench"
	rabbitFolds    = "folds"
)

func missingRabbitMQ(context.Context) error {
	_, err := testenv.FindRabbitMQ()
	return err
}

func startRabbitMQ(_ context.Context, s servers, listeners int) (_ peer, err error) {
	p := &rabbitMQ{listeners: listeners, redis: s.redis.Client()}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.publishing, err = amqp.Dial(s.rabbit.URL()); err != nil {
		return nil, err
	}
	if p.consume, err = amqp.Dial(s.rabbit.URL()); err != nil {
		return nil, err
	}
	ch, err := p.publishing.Channel()
	if err != nil {
		return nil, err
	}
	if err := ch.ExchangeDeclare(rabbitExchange, amqp.ExchangeFanout, true, false, false, false, nil); err != nil {
		return nil, err
	}
	for _, queue := range p.queues() {
		if _, err := ch.QueueDeclare(queue, true, false, false, false, nil); err != nil {
			return nil, err
		}
		if queue == rabbitFolds {
			continue
		}
		if err := ch.QueueBind(queue, "", rabbitExchange, false, nil); err != nil {
			return nil, err
		}
	}
	return p, ch.Close()
}

func (p *rabbitMQ) queues() []string {
	list := []string{rabbitFolds}
	for l := range p.listeners {
		list = append(list, listenerName(l))
	}
	return list
}

func (p *rabbitMQ) push(ctx context.Context, ids []string) error {
	ch, err := p.publisher()
	if err != nil {
		return err
	}
	defer ch.Close()
	for first := 0; first < len(ids); first += rabbitPush {
		sent, err := publish(ctx, ch, rabbitExchange, "", ids[first:min(first+rabbitPush, len(ids))])
		if err != nil {
			return err
		}
		if err := confirmed(ctx, sent); err != nil {
			return err
		}
	}
	return nil
}

func (p *rabbitMQ) run(ctx context.Context, tell told) error {
	group, ctx := errgroup.WithContext(ctx)
	for l := range p.listeners {
		group.Go(func() error { return p.work(ctx, listenerName(l), tell, p.listen) })
	}
	group.Go(func() error { return p.work(ctx, rabbitFolds, tell, p.fold) })
	return group.Wait()
}

// batch is work that is done, but for what has to be confirmed.
type batch struct {
	last amqp.Delivery
	sent []*amqp.DeferredConfirmation
}

// work consumes a queue in batches. do returns the jobs whose fold is next.
func (p *rabbitMQ) work(ctx context.Context, queue string, tell told, do func(context.Context, string, []string, told) ([]string, error)) error {
	ch, err := p.consume.Channel()
	if err != nil {
		return err
	}
	defer ch.Close()
	out, err := p.publisher()
	if err != nil {
		return err
	}
	defer out.Close()
	if err := ch.Qos(rabbitPrefetch, 0, false); err != nil {
		return err
	}
	deliveries, err := ch.Consume(queue, "", false, false, false, false, nil)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	done := make(chan batch, rabbitPrefetch)
	group.Go(func() error {
		for b := range done {
			if err := confirmed(ctx, b.sent); err != nil {
				return err
			}
			if err := b.last.Ack(true); err != nil {
				return err
			}
		}
		return nil
	})
	group.Go(func() error {
		defer close(done)
		for {
			ids, last, err := take(ctx, deliveries)
			if err != nil {
				return err
			}
			complete, err := do(ctx, queue, ids, tell)
			if err != nil {
				return err
			}
			sent, err := publish(ctx, out, "", rabbitFolds, complete)
			if err != nil {
				return err
			}
			done <- batch{last, sent}
		}
	})
	if err := group.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// take waits for a delivery, and returns all that have come by then.
func take(ctx context.Context, deliveries <-chan amqp.Delivery) (ids []string, last amqp.Delivery, err error) {
	select {
	case <-ctx.Done():
		return nil, last, ctx.Err()
	case last = <-deliveries:
	}
	for {
		if last.Acknowledger == nil {
			return nil, last, errors.New("the broker has closed the channel")
		}
		ids = append(ids, string(last.Body))
		if len(ids) == rabbitBatch {
			return ids, last, nil
		}
		select {
		case last = <-deliveries:
		default:
			return ids, last, nil
		}
	}
}

func (p *rabbitMQ) listen(ctx context.Context, listener string, ids []string, tell told) (complete []string, err error) {
	done := make([]*redis.IntCmd, len(ids))
	if _, err := p.redis.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, id := range ids {
			if tell.started != nil {
				tell.started(id)
			}
			pipe.HSet(ctx, jobHash(id), listener, numbersJSON())
			done[i] = pipe.HIncrBy(ctx, jobHash(id), "done", 1)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	for i, id := range ids {
		if done[i].Val() == int64(p.listeners) {
			complete = append(complete, id)
		}
	}
	return complete, nil
}

func (p *rabbitMQ) fold(ctx context.Context, _ string, ids []string, tell told) ([]string, error) {
	fields := make([]*redis.MapStringStringCmd, len(ids))
	keys := make([]string, len(ids))
	if _, err := p.redis.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, id := range ids {
			keys[i] = jobHash(id)
			fields[i] = pipe.HGetAll(ctx, keys[i])
		}
		return nil
	}); err != nil {
		return nil, err
	}
	bad := make([]error, len(ids))
	for i := range ids {
		bad[i] = wrong(fields[i].Val(), p.listeners)
	}
	if err := p.redis.Unlink(ctx, keys...).Err(); err != nil {
		return nil, err
	}
	for i, id := range ids {
		tell.folded(id, bad[i])
	}
	return nil, nil
}

// publisher is a channel on which the broker confirms what is safe.
func (p *rabbitMQ) publisher() (*amqp.Channel, error) {
	ch, err := p.publishing.Channel()
	if err != nil {
		return nil, err
	}
	return ch, ch.Confirm(false)
}

func publish(ctx context.Context, ch *amqp.Channel, exchange, key string, ids []string) ([]*amqp.DeferredConfirmation, error) {
	var sent []*amqp.DeferredConfirmation
	for _, id := range ids {
		c, err := ch.PublishWithDeferredConfirmWithContext(ctx, exchange, key, false, false,
			amqp.Publishing{DeliveryMode: amqp.Persistent, Body: []byte(id)})
		if err != nil {
			return nil, err
		}
		sent = append(sent, c)
	}
	return sent, nil
}

func confirmed(ctx context.Context, sent []*amqp.DeferredConfirmation) error {
	for _, c := range sent {
		if ok, err := c.WaitContext(ctx); err != nil || !ok {
			return errors.Join(errors.New("the broker has not confirmed a message"), err)
		}
	}
	return nil
}

func (p *rabbitMQ) hash(id string) string { return jobHash(id) }

// close removes what the next one would find.
func (p *rabbitMQ) close() {
	defer p.redis.Close()
	for _, c := range []*amqp.Connection{p.consume, p.publishing} {
		if c == nil {
			continue
		}
		if ch, err := c.Channel(); err == nil && c == p.publishing {
			for _, queue := range p.queues() {
				_, _ = ch.QueueDelete(queue, false, false, false)
			}
			_ = ch.ExchangeDelete(rabbitExchange, false, false)
		}
		_ = c.Close()
	}
}
