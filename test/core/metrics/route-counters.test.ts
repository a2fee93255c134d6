import t from 'tap'
import { CLASSES, LABELLED_METHODS, RouteCounters } from '../../../core/metrics/route-counters.ts'
import { createTestExchange } from '../../../sdk/testing.ts'

function reply(
  method: string,
  status: number,
  upstream?: readonly [startMs: number, endMs: number],
) {
  const x = createTestExchange({ method })
  x.reply(status, 'abc')
  if (upstream !== undefined) [x.upstreamStartMs, x.upstreamReplyMs] = upstream
  return x
}

t.test('requests are counted by method and status class', async (t) => {
  const counters = new RouteCounters('greeter', '', '')
  for (const [i, method] of LABELLED_METHODS.entries())
    for (let n = 0; n <= i; n++) counters.count(reply(method, 204), 1, true)
  counters.count(reply('PROPFIND', 599), 1, true)
  counters.count(createTestExchange({ method: 'GET' }), 1, true)
  const counts = LABELLED_METHODS.map((_, i) => counters.durations[i * CLASSES + 2]?.count)
  t.same(counts, [1, 2, 3, 4, 5, 6, 7, 8])
  t.equal(counters.durations[7 * CLASSES + 5]?.count, 1, 'an unlisted method')
  t.equal(counters.durations[0]?.count, 1, 'a request without a response')
  t.equal(counters.bytesOut.sum, 37 * 3)
})

t.test('durations of the node and of the gateway are counted separately', async (t) => {
  const counters = new RouteCounters('greeter', '', '')
  counters.count(reply('GET', 200, [10, 30]), 25, true)
  t.equal(counters.upstream.sum, 20)
  t.equal(counters.gateway.sum, 5)
  counters.count(reply('GET', 200, [10, 30]), 25, false)
  t.equal(counters.upstream.count, 2)
  t.equal(counters.gateway.count, 1, 'only exact measurements count')
  counters.count(reply('GET', 429), 3, true)
  t.equal(counters.gateway.sum, 8, 'a request that the gateway responded to itself')
  counters.count(reply('GET', 504, [10, 0]), 5000, true)
  t.equal(counters.gateway.sum, 8, 'waiting for a node does not count for the gateway')
  t.equal(counters.upstream.count, 2)
})
