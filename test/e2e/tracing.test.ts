// A request through the gateway, two services, a broker and an event stream is one trace.
import t from 'tap'
import { Type } from '../../core/schema.ts'
import { createBroker } from '../../sdk/broker/broker.ts'
import { metadata } from '../../sdk/context.ts'
import { createEvents } from '../../sdk/events/events.ts'
import { createServiceLog } from '../../sdk/log/service-log.ts'
import { endpoint } from '../../sdk/service/endpoint.ts'
import { Service } from '../../sdk/service/service.ts'
import { exportTo, openOtlpCollector, type ReceivedSpan } from '../fixtures/otlp-collector.ts'
import { waitUntil } from '../fixtures/raw-backend.ts'
import { ADMIN, openServer } from '../fixtures/server.ts'

t.setTimeout(120_000)

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = `00-${TRACE}-b7ad6b7169203331-01`
const Id = Type.Object({ id: Type.Integer() })

const collector = await openOtlpCollector(t)
exportTo(t, collector)
const { proxy, url, token } = await openServer(t)
const registry = `mx://${proxy}`

/** Traceparents received by handlers. */
const received: Record<string, string> = {}
const lines: string[] = []
let failures = 1

function open(name: string): Service {
  const write = (line: string): void => void lines.push(line)
  return new Service({
    name,
    registry,
    auth: ADMIN,
    log: createServiceLog({ service: name, write }),
  })
}

const stock = open('stock')
const stockBroker = createBroker(stock)
const stockEvents = createEvents(stock)
stock.handle('Stock', {
  take: endpoint({
    request: Id,
    response: Id,
    async handle({ id }, ctx) {
      received['stock'] = metadata.get(ctx, 'traceparent')[0]
      if (failures-- > 0) throw new Error('once more')
      ctx.log.info({}, 'taken')
      await stockBroker.publish('changed', { id }, { context: ctx })
      await stockEvents.publish('audit', { id }, { context: ctx, metadata: { by: 'stock' } })
      return { id }
    },
  }),
})
const orders = open('orders')
orders.handle('Orders', {
  create: endpoint({
    request: Id,
    response: Id,
    handle: ({ id }, ctx) => orders.client.call('stock', 'Stock.Take', { id }, { context: ctx }),
  }),
})
const mailer = open('mailer')
mailer.subscribe('changed', (_, ctx) => {
  received['mailer'] = metadata.get(ctx, 'traceparent')[0]
})
for (const service of [stock, orders, mailer]) {
  await service.start()
  t.teardown(() => service.stop())
}
const events = createEvents(mailer)

const find = (name: string, kind: ReceivedSpan['kind'], service: string): Promise<ReceivedSpan> =>
  collector.find((span) => span.name === name && span.kind === kind && span.service === service)

t.test('gateway, services, messages and events form one trace', async (t) => {
  const audit = events.consume('audit', { group: 'keeper', offset: 1, autoAck: false })
  const reply = await fetch(`${url}/orders/Orders/create`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      traceparent: PARENT,
      tracestate: 'vendor=1',
      baggage: 'user=7',
    },
    body: '{"id":5}',
  })
  t.same(await reply.json(), { id: 5 })
  const { value: event } = await audit.next()
  received['keeper'] = metadata.get(event!.context, 'traceparent')[0]
  t.match(event!.metadata, { by: 'stock', tracestate: 'vendor=1', baggage: 'user=7' })
  t.equal(metadata.get(event!.context, 'baggage')[0], 'user=7')
  await event!.ack()
  await audit.return!()
  await waitUntil(() => received['mailer'] !== undefined)

  const gateway = await collector.find(({ attributes }) => attributes['mx.service'] === 'orders')
  const toOrders = await find('orders/Orders.Create', 'client', 'mx-api')
  const inOrders = await find('orders/Orders.Create', 'server', 'orders')
  const inStock = await collector.find(
    ({ name, kind, failed }) => name === 'stock/Stock.Take' && kind === 'server' && !failed,
  )
  const attempts = collector.spans.filter(
    ({ name, kind }) => name === 'stock/Stock.Take' && kind === 'client',
  )
  const changed = await find('send changed', 'producer', 'stock')
  const audited = await find('send audit', 'producer', 'stock')
  const mailed = await find('process changed', 'consumer', 'mailer')
  const span = await find('process audit', 'consumer', 'mailer')

  t.equal(gateway.parentSpanId, PARENT.split('-')[2])
  t.equal(toOrders.parentSpanId, gateway.spanId)
  t.equal(inOrders.parentSpanId, toOrders.spanId)
  t.equal(attempts.length, 2, 'a retried call has two spans')
  t.same(
    attempts.map(({ parentSpanId }) => parentSpanId),
    [inOrders.spanId, inOrders.spanId],
  )
  t.match(attempts, [
    { failed: true, attributes: { 'error.type': '500' } },
    { failed: false, attributes: { 'rpc.service': 'stock', 'rpc.method': 'Stock.Take' } },
  ])
  t.equal(inStock.parentSpanId, attempts[1]!.spanId)
  t.equal(changed.parentSpanId, inStock.spanId)
  t.equal(audited.parentSpanId, inStock.spanId)
  t.equal(mailed.parentSpanId, changed.spanId)
  t.equal(span.parentSpanId, audited.spanId)
  t.match(span.attributes, {
    'messaging.destination.name': 'audit',
    'messaging.consumer.group.name': 'keeper',
    'messaging.operation.type': 'process',
  })
  const spans = [gateway, toOrders, inOrders, ...attempts, inStock, changed, mailed, audited, span]
  t.same([...new Set(spans.map(({ traceId }) => traceId))], [TRACE])
  t.ok(spans.every(({ tracestate }) => tracestate === 'vendor=1'))
  t.match(received, {
    stock: `00-${TRACE}-${inStock.spanId}-01`,
    mailer: `00-${TRACE}-${mailed.spanId}-01`,
    keeper: `00-${TRACE}-${span.spanId}-01`,
  })
  t.ok(
    lines.some((line) => line.includes('"taken"') && line.includes(`"trace":"${TRACE}"`)),
    'the log of a call contains its trace id',
  )
})

t.test('internal calls of the platform start no trace', async (t) => {
  const roots = collector.spans.filter(({ parentSpanId }) => parentSpanId === '')
  const platformSpans = [
    'auth',
    'broker',
    'config',
    'events',
    'network',
    'registry',
    'runtime',
    'store',
    'api',
  ]
  t.same(
    roots.filter(({ service }) => platformSpans.includes(service)).map(({ name }) => name),
    [],
  )
})
