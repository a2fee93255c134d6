import t from 'tap'
import { isTopicName, toTopicName } from '../../../domain/broker/topic-name.ts'

t.test('separates topics of namespaces that share a prefix', async (t) => {
  t.equal(toTopicName('acme', 'orders'), 'acme.orders')
  t.equal(toTopicName('acme', 'eu.orders'), 'acme.eu.orders')
  t.equal(toTopicName('acme.eu', 'orders'), 'acme=eu.orders')
  t.equal(toTopicName('go.mx.api', 'v1.foo'), 'go=mx=api.v1.foo')
})

t.test('accepts service names, and topics of namespaces', async (t) => {
  for (const name of ['orders', 'acme.orders', 'acme=eu.orders', 'a-b_c.D9', 'x'.repeat(253)])
    t.ok(isTopicName(name), name)
  for (const name of ['', '=', '=a', 'a=', 'a==b', 'a=.b', 'a.*', 'a b', 'x'.repeat(254)])
    t.notOk(isTopicName(name), name)
})
