import fc from 'fast-check'
import t from 'tap'
import {
  DEFAULT_OUTLIER,
  OutlierDetector,
  type OutlierOptions,
} from '../../../../core/upstream/health/outlier-detection.ts'
import { HEALTHY } from '../../../../core/upstream/node/node-failures.ts'
import type { UpstreamNode } from '../../../../core/upstream/node/upstream-node.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'
import { makeUpstream } from '../../../fixtures/services.ts'

const SECOND = 1000
/** One failure ejects a node. */
const FIRST_FAILURE = { consecutiveGatewayErrors: 1 }

/** Outlier detector over `count` nodes with the log of its events. */
function watchNodes(
  count: number,
  options: Partial<OutlierOptions> = {},
): {
  health: OutlierDetector
  nodes: readonly UpstreamNode[]
  events: string[]
} {
  const events: string[] = []
  const health = new OutlierDetector(
    { ...DEFAULT_OUTLIER, baseEjectionMs: 10 * SECOND, ...options },
    (node, forMs) => events.push(`${node.port} ejected for ${forMs / SECOND} s`),
    (node) => events.push(`${node.port} returned`),
  )
  const { nodes } = makeUpstream(Array<number>(count).fill(1))
  health.update(nodes)
  return { health, nodes, events }
}

t.test('a connect failure ejects a node immediately', async (t) => {
  const { health, nodes } = watchNodes(2)
  t.ok(health.failed(nodes[0]!, 'connect', 0))
  t.same(health.usable, [nodes[1]])
})

t.test(
  'unreachable nodes are ejected for 1 s, doubled up to the first ejection time of other nodes',
  async (t) => {
    const { health, nodes, events } = watchNodes(2)
    const [node] = nodes as [UpstreamNode]
    let now = 0
    health.failed(node, 'connect', now)
    for (const seconds of [1, 2, 4, 8, 10, 10]) {
      t.equal(events.at(-1), `9001 ejected for ${seconds} s`)
      now += seconds * SECOND
      t.equal(health.takeTrial(now, undefined), node)
      health.failed(node, 'connect', now)
    }
  },
)

t.test('any number of unreachable nodes is ejected, except the last one', async (t) => {
  const { health, nodes } = watchNodes(5)
  for (const node of nodes) health.failed(node, 'connect', 0)
  t.same(health.usable, nodes.slice(4))
})

t.test('unreachable nodes do not count towards the limit of ejected nodes', async (t) => {
  const { health, nodes } = watchNodes(4, FIRST_FAILURE)
  health.failed(nodes[0]!, 'connect', 0)
  health.failed(nodes[1]!, 'reset', 0)
  t.ok(health.failed(nodes[2]!, 'reset', 0), 'two of four')
  t.same(health.usable, [nodes[3]])
  health.update(nodes)
  t.same(health.usable, [nodes[3]])
})

t.test('three lost connections eject a node, and a success resets the count', async (t) => {
  const { health, nodes } = watchNodes(2)
  const [node] = nodes as [UpstreamNode]
  for (let i = 0; i < 2; i++) t.notOk(health.failed(node, 'reset', 0))
  health.succeeded(node, 0)
  for (let i = 0; i < 2; i++) t.notOk(health.failed(node, 'reset', 0))
  t.equal(health.usable.length, 2)
  t.ok(health.failed(node, 'reset', 0))
  t.same(health.usable, [nodes[1]])
})

t.test('without limits no node is ejected', async (t) => {
  const { health, nodes } = watchNodes(2, {
    ...{ consecutive5xx: 0, consecutiveGatewayErrors: 0, failurePercentage: 0, latencyFactor: 0 },
  })
  for (let i = 0; i < 200; i++) {
    for (const failure of ['connect', 'gateway', 500] as const)
      t.notOk(health.failed(nodes[0]!, failure, i * SECOND))
    for (const node of nodes) t.notOk(health.count(node, node === nodes[0], 9000, i * SECOND))
  }
  t.same(health.usable, nodes)
})

t.test('five 5xx responses eject a node once another node serves the route', async (t) => {
  const { health, nodes } = watchNodes(2)
  const [bad, healthy] = nodes as [UpstreamNode, UpstreamNode]
  for (let i = 0; i < 9; i++) t.notOk(health.failed(bad, 500, 0, '/a'), 'all nodes may fail')
  t.notOk(health.succeeded(healthy, 0, '/b'), 'another route')
  t.ok(health.succeeded(healthy, 0, '/a'))
  t.same(health.usable, [healthy])
})

t.test('5xx responses after the success of another node eject at the fifth', async (t) => {
  const { health, nodes } = watchNodes(2)
  const [bad, healthy] = nodes as [UpstreamNode, UpstreamNode]
  for (let i = 0; i < 4; i++) {
    t.notOk(health.failed(bad, 500, 0, '/a'))
    t.notOk(health.succeeded(healthy, 0, '/a'))
  }
  t.ok(health.failed(bad, 500, 0, '/a'))
  t.same(health.usable, [healthy])
})

t.test(
  'three 503 responses eject a node, unless there is a 500 response between them',
  async (t) => {
    for (const [statuses, isEjected] of [
      [[503, 502, 504], true],
      [[503, 503, 500, 503], false],
    ] as const) {
      const { health, nodes } = watchNodes(2)
      for (const status of statuses) {
        health.failed(nodes[0]!, status, 0, '/a')
        health.succeeded(nodes[1]!, 0, '/a')
      }
      t.equal(health.usable.length, isEjected ? 1 : 2, `${statuses}`)
    }
  },
)

t.test(
  'one failing route does not eject a node that serves others, but two failing routes do',
  async (t) => {
    const { health, nodes } = watchNodes(2)
    const [bad, healthy] = nodes as [UpstreamNode, UpstreamNode]
    const serve = (failing: readonly string[]): boolean[] =>
      ['/a', '/b', '/c'].map((route) => {
        health.succeeded(healthy, 0, route)
        return failing.includes(route)
          ? health.failed(bad, 500, 0, route)
          : health.succeeded(bad, 0, route)
      })
    for (let i = 0; i < 20; i++) t.notOk(serve(['/a']).includes(true))
    for (let i = 0; i < 4; i++) t.notOk(serve(['/a', '/b']).includes(true))
    t.ok(serve(['/a', '/b']).includes(true))
    t.same(health.usable, [healthy])
  },
)

t.test('late responses eject a node only if another node serves the route', async (t) => {
  const { health, nodes } = watchNodes(2)
  const [late, healthy] = nodes as [UpstreamNode, UpstreamNode]
  for (let i = 0; i < 9; i++) t.notOk(health.failed(late, 'gateway', 0, '/report'))
  t.ok(health.succeeded(healthy, 0, '/report'))
})

t.test('nodes that get different requests are not compared by failures and latency', async (t) => {
  const { health, nodes } = watchNodes(2)
  health.isComparable = false
  for (let i = 0; i < 300; i++)
    for (const [n, node] of nodes.entries()) t.notOk(health.count(node, n === 0, n * 900, i * 100))
  t.same(health.usable, nodes)
})

t.test('without limits, a new list readmits ejected nodes', async (t) => {
  const { health, nodes } = watchNodes(2, FIRST_FAILURE)
  health.failed(nodes[0]!, 'reset', 0)
  health.options = { ...health.options, consecutive5xx: 0, consecutiveGatewayErrors: 0 }
  health.update(nodes)
  t.same(health.usable, nodes)
})

t.test('scope node: five 5xx responses eject regardless of other nodes', async (t) => {
  const { health, nodes } = watchNodes(2, { scope: 'node' })
  for (let i = 0; i < 4; i++) t.notOk(health.failed(nodes[0]!, 500, 0, `/${i}`))
  t.ok(health.failed(nodes[0]!, 500, 0, '/a'))
})

t.test('a node with many failures between successes is ejected after the interval', async (t) => {
  for (const [failing, isEjected] of [
    [[90, 0, 0], true],
    [[80, 0, 0], false],
    [[90, 90, 90], false],
  ] as const) {
    const { health, nodes, events } = watchNodes(3)
    health.count(nodes[0]!, false, 1, 0)
    for (let i = 0; i < 100; i++)
      for (const [n, node] of nodes.entries()) health.count(node, i < failing[n]!, 1, SECOND)
    t.equal(health.count(nodes[1]!, false, 1, 11 * SECOND), isEjected)
    t.strictSame(events, isEjected ? ['9001 ejected for 10 s'] : [], `${failing}`)
  }
})

t.test(
  'a node is ejected if it is four times as slow as the other nodes, and slower than 100 ms',
  async (t) => {
    for (const [latencies, isEjected] of [
      [[200, 20, 30], true],
      [[200, 20], true],
      [[50, 2, 2], false],
      [[200, 100, 100], false],
      [[900, 900, 900], false],
    ] as const) {
      const { health, nodes } = watchNodes(latencies.length)
      health.count(nodes[0]!, false, 1, 0)
      for (let i = 0; i < 100; i++)
        for (const [n, node] of nodes.entries()) health.count(node, false, latencies[n]!, SECOND)
      health.count(nodes[1]!, false, 1, 11 * SECOND)
      t.equal(health.usable.includes(nodes[0]!), !isEjected, `${latencies}`)
    }
  },
)

t.test('a node is ejected for 10 s, doubled with every failed trial up to 5 min', async (t) => {
  const { health, nodes, events } = watchNodes(2, FIRST_FAILURE)
  const [node] = nodes as [UpstreamNode]
  let now = 0
  health.failed(node, 'reset', now)
  for (const seconds of [10, 20, 40, 80, 160, 300, 300]) {
    t.equal(events.at(-1), `9001 ejected for ${seconds} s`)
    now += seconds * SECOND
    t.equal(health.takeTrial(now - 1, undefined), undefined, 'not earlier')
    t.equal(health.takeTrial(now, undefined), node)
    health.failed(node, 'reset', now)
  }
})

t.test('after the ejection time a single request tries the node', async (t) => {
  const { health, nodes } = watchNodes(2, FIRST_FAILURE)
  const [node] = nodes as [UpstreamNode]
  health.failed(node, 'reset', 0)
  t.equal(health.takeTrial(10 * SECOND, undefined), node)
  t.equal(health.takeTrial(10 * SECOND, undefined), undefined, 'one trial at a time')
  t.same(health.usable, [nodes[1]], 'not usable during the trial')
  t.ok(health.succeeded(node, 0))
  t.same(health.usable, nodes)
  t.equal(health.nextTrialMs, Number.POSITIVE_INFINITY, 'no trial is scheduled')
})

t.test('a successful trial resets ejection time and failure count', async (t) => {
  const { health, nodes, events } = watchNodes(2, FIRST_FAILURE)
  const [node] = nodes as [UpstreamNode]
  health.failed(node, 'reset', 0)
  health.takeTrial(10 * SECOND, undefined)
  health.failed(node, 'reset', 10 * SECOND)
  health.takeTrial(30 * SECOND, undefined)
  health.succeeded(node, 0)
  health.failed(node, 'reset', 31 * SECOND)
  t.same(events, [
    '9001 ejected for 10 s',
    '9001 ejected for 20 s',
    '9001 returned',
    '9001 ejected for 10 s',
  ])
})

t.test('a trial without a result is followed by another after 10 s', async (t) => {
  const { health, nodes } = watchNodes(2, FIRST_FAILURE)
  health.failed(nodes[0]!, 'reset', 0)
  t.equal(health.takeTrial(10 * SECOND, undefined), nodes[0])
  t.equal(health.takeTrial(19 * SECOND, undefined), undefined)
  t.equal(health.takeTrial(20 * SECOND, undefined), nodes[0])
})

t.test('a request is not a trial for the node it has failed on', async (t) => {
  const { health, nodes } = watchNodes(2, FIRST_FAILURE)
  health.failed(nodes[0]!, 'reset', 0)
  t.equal(health.takeTrial(10 * SECOND, nodes[0]), undefined)
  t.equal(health.takeTrial(10 * SECOND, nodes[1]), nodes[0])
})

t.test('results of requests started before the ejection are ignored', async (t) => {
  const { health, nodes, events } = watchNodes(2, FIRST_FAILURE)
  const [node] = nodes as [UpstreamNode]
  health.failed(node, 'reset', 0)
  for (let i = 0; i < 64; i++) t.notOk(health.failed(node, 'reset', 5))
  t.notOk(health.succeeded(node, 0))
  t.same(health.usable, [nodes[1]])
  t.same(events, ['9001 ejected for 10 s'])
})

t.test('at most half of the nodes are ejected, rounded down', async (t) => {
  for (const [count, maxEjected] of [
    [1, 0],
    [2, 1],
    [3, 1],
    [4, 2],
    [5, 2],
  ] as const) {
    const { health, nodes } = watchNodes(count, FIRST_FAILURE)
    for (const node of nodes) health.failed(node, 'reset', 0)
    t.equal(health.usable.length, count - maxEjected, `${maxEjected} of ${count}`)
  }
})

t.test('after random events at least half of the nodes are usable', async () => {
  type Step = {
    name: 'reset' | 'gateway' | 'success' | 'trial' | 'list'
    nodeIndex: number
    afterMs: number
  }
  const step: fc.Arbitrary<Step> = fc.record({
    name: fc.constantFrom('reset', 'gateway', 'success', 'trial', 'list'),
    nodeIndex: fc.nat(7),
    afterMs: fc.nat(20 * SECOND),
  })
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 8 }),
      fc.array(step, { maxLength: 200 }),
      (count, steps) => {
        const { health, nodes: all } = watchNodes(count, FIRST_FAILURE)
        let listed = all
        let now = 0
        for (const { name, nodeIndex, afterMs } of steps) {
          now += afterMs
          const node = all[nodeIndex % count]!
          if (name === 'reset' || name === 'gateway') health.failed(node, name, now)
          else if (name === 'success') health.succeeded(node, 0)
          else if (name === 'trial') health.takeTrial(now, undefined)
          else {
            listed = all.slice(nodeIndex % count)
            health.update(listed)
          }
          const ejected = listed.filter(({ ejectedUntilMs }) => ejectedUntilMs !== 0)
          const total = ejected.length + health.usable.length === listed.length
          if (!total || ejected.length > Math.floor(listed.length / 2)) return false
          if ((health.nextTrialMs === Number.POSITIVE_INFINITY) !== (ejected.length === 0))
            return false
        }
        return true
      },
    ),
    { numRuns: scaleRuns(300) },
  )
})

t.test('when the list shrinks, the nodes closest to their return become usable', async (t) => {
  const { health, nodes, events } = watchNodes(4, FIRST_FAILURE)
  health.failed(nodes[0]!, 'reset', 0)
  health.failed(nodes[1]!, 'reset', 5 * SECOND)
  health.update(nodes.slice(0, 2))
  t.same(health.usable, [nodes[0]])
  t.equal(events.at(-1), '9001 returned')
})

t.test('a node that is no longer listed is not ejected', async (t) => {
  const { health, nodes, events } = watchNodes(3, FIRST_FAILURE)
  health.update(nodes.slice(1))
  t.notOk(health.failed(nodes[0]!, 'reset', 0))
  t.same(events, [])
})

t.test('limits, first ejection and maximum share are configurable', async (t) => {
  const { health, nodes } = watchNodes(2, { consecutiveGatewayErrors: 2, baseEjectionMs: 100 })
  health.failed(nodes[0]!, 'reset', 0)
  t.ok(health.failed(nodes[0]!, 'reset', 0))
  t.equal(health.nextTrialMs, 100)
  const all = watchNodes(2, { ...FIRST_FAILURE, maxEjectionPercent: 100 })
  for (const node of all.nodes) all.health.failed(node, 'reset', 0)
  t.same(all.health.usable, [])
})

t.test('healthy nodes share one record', async (t) => {
  const { health, nodes } = watchNodes(3, FIRST_FAILURE)
  t.equal(health.usable, health.nodes)
  health.failed(nodes[0]!, 500, 0)
  t.equal(nodes[0]!.failures.consecutive, 1)
  health.succeeded(nodes[0]!, 0)
  health.failed(nodes[1]!, 'reset', 0)
  t.match(nodes[1]!.failures, { consecutive: 1, ejections: 1, ejectedUntilMs: 10 * SECOND })
  health.succeeded(nodes[1]!, 0)
  t.match(
    nodes[1]!.failures,
    { consecutive: 0, ejections: 1 },
    'the record remains while the node is ejected',
  )
  health.takeTrial(10 * SECOND, undefined)
  health.succeeded(nodes[1]!, 0)
  for (const node of nodes) t.equal(node.failures, HEALTHY)
  t.equal(health.usable, health.nodes)
})
