import fc from 'fast-check'
import t from 'tap'
import { createRouteTable, type RouteTable } from '../../../domain/mesh/routing-table.ts'
import { scaleRuns } from '../../fixtures/property-runs.ts'

/** Opens a table that records changes, with peers b, c and d of cost 1, 1 and 5. */
function open(maxHops?: number) {
  const changed: string[] = []
  const table = createRouteTable({
    id: 'a',
    onChange: (key) => changed.push(key),
    ...(maxHops !== undefined && { maxHops }),
  })
  for (const [peer, cost] of Object.entries({ b: 1, c: 1, d: 5 })) table.setPeer(peer, cost)
  return { table, changed: () => changed.splice(0) }
}

const toUpdate = (path: string, metric = 0, entry = 'x') => ({
  path: path.split(''),
  metric,
  entry,
})
const findRoute = (table: RouteTable, key = 's') => {
  const route = table.find(key)
  return route && `${route.path.join('')} ${route.metric}`
}

t.test('uses the cheapest route, including the cost of the link', (t) => {
  const { table } = open()
  table.applyRoute('d', 's', toUpdate('dx'))
  t.equal(findRoute(table), 'dx 5')
  table.applyRoute('b', 's', toUpdate('byx', 3))
  t.equal(findRoute(table), 'byx 4')
  table.setPeer('b', 9)
  t.equal(findRoute(table), 'dx 5')
  table.applyRoute('d', 's', undefined)
  t.equal(findRoute(table), 'byx 12')
  table.removePeer('b')
  t.equal(findRoute(table), undefined)
  t.end()
})

t.test('orders servers of a peer before their services', (t) => {
  const { table, changed } = open()
  for (const key of ['s', '@x', 't', '@b']) table.applyRoute('b', key, toUpdate('bx'))
  changed()
  table.removePeer('b')
  t.strictSame(changed(), ['@x', '@b', 's', 't'])
  t.end()
})

t.test('uses all routes of equal cost and advertises the shortest', (t) => {
  const { table } = open()
  table.applyRoute('b', 's', toUpdate('byx', 3))
  table.applyRoute('c', 's', toUpdate('cx', 3, 'y'))
  table.applyRoute('d', 's', toUpdate('dx', 3))
  const { path, entry, ways: routes } = table.find('s')!
  t.strictSame([path, entry], [['c', 'x'], 'y'])
  t.strictSame(
    routes.map(({ path }) => path.join('')),
    ['cx', 'byx'],
  )
  t.strictSame(
    table.list('s').map(({ path, metric }) => `${path.join('')} ${metric}`),
    ['cx 4', 'byx 4', 'dx 8'],
  )
  t.strictSame(table.advertise('s', 'd'), { path: ['a', 'c', 'x'], metric: 4, entry: 'y' })
  t.end()
})

t.test('ignores a route through this server', (t) => {
  const { table, changed } = open()
  table.applyRoute('b', 's', toUpdate('bx'))
  t.strictSame(changed(), ['s'])
  table.applyRoute('b', 's', toUpdate('bax', 2))
  t.equal(findRoute(table), undefined)
  table.applyRoute('c', 's', toUpdate('ca'))
  t.strictSame(changed(), ['s'], 'an unusable route is not a change')
  t.end()
})

t.test('does not advertise a route through the receiver or over the hop limit', (t) => {
  const { table } = open(3)
  table.applyRoute('b', 's', toUpdate('bc'))
  t.equal(table.advertise('s', 'b'), undefined)
  t.equal(table.advertise('s', 'c'), undefined)
  t.strictSame(table.advertise('s', 'd')?.path, ['a', 'b', 'c'])
  table.applyRoute('b', 's', toUpdate('bxy'))
  t.equal(findRoute(table), 'bxy 1', 'the route is usable locally')
  t.equal(table.advertise('s', 'd'), undefined)
  t.end()
})

t.test('advertises local destinations, which take precedence', (t) => {
  const { table, changed } = open()
  table.applyRoute('b', 's', toUpdate('bx'))
  table.setLocal('s', 'mine')
  t.equal(findRoute(table), undefined)
  t.strictSame(table.advertise('s', 'b'), { path: ['a'], metric: 0, entry: 'mine' })
  table.applyRoute('b', 's', toUpdate('bx', 0, 'news'))
  t.strictSame(changed(), ['s', 's'], 'a remote update is not a change')
  table.setLocal('s', null)
  t.equal(table.advertise('s', 'd'), undefined, 'remote routes are not advertised')
  t.equal(findRoute(table), undefined)
  table.setLocal('s', undefined)
  t.equal(table.find('s')?.entry, 'news')
  table.setLocal('s', undefined)
  t.strictSame(changed(), ['s', 's'])
  t.strictSame([...table.keys()], ['s'])
  t.end()
})

t.test('ignores an update without effect', (t) => {
  const { table, changed } = open()
  table.applyRoute('b', 's', toUpdate('bx'))
  table.applyRoute('c', 's', toUpdate('cx'))
  t.strictSame(changed(), ['s', 's'])
  table.applyRoute('b', 's', toUpdate('bx'))
  table.applyRoute('d', 's', toUpdate('dx'))
  table.setPeer('d', 9)
  table.setPeer('c', 1)
  table.applyRoute('c', 't', undefined)
  t.strictSame(changed(), [])
  table.applyRoute('c', 's', toUpdate('cx', 0, 'y'))
  t.strictSame(changed(), ['s'], 'a different entry of an equal route is a change')
  t.end()
})

// Servers with tables, and messages in flight between them, in order for each pair.

interface Context {
  readonly tables: RouteTable[]
  readonly links: Set<string>
  readonly costs: Map<string, number>
  readonly mail: Map<string, (() => void)[]>
  readonly own: Set<string>
}

const SERVERS = 6
const SERVICES = ['s', 't']
const getName = (server: number): string => `n${server}`
const getLink = (from: number, to: number): string => `${from}>${to}`

function createContext(): Context {
  const context: Context = {
    tables: [],
    links: new Set(),
    costs: new Map(),
    mail: new Map(),
    own: new Set(),
  }
  for (let server = 0; server < SERVERS; server++) {
    const onChange = (key: string): void => {
      for (let other = 0; other < SERVERS; other++) send(context, server, other, key)
    }
    context.tables.push(createRouteTable({ id: getName(server), onChange }))
  }
  return context
}

/** Queues the current route for a linked server. */
function send(context: Context, from: number, to: number, key: string): void {
  const link = getLink(to, from)
  if (!context.links.has(link)) return
  const result = context.tables[from]!.advertise(key, getName(to))
  context.mail.get(link)!.push(() => context.tables[to]!.applyRoute(getName(from), key, result))
}

/** Opens or closes the link from `from` to `to`; messages in flight are lost. */
function toggle(context: Context, to: number, from: number): void {
  const link = getLink(to, from)
  context.mail.set(link, [])
  if (context.links.delete(link)) return context.tables[to]!.removePeer(getName(from))
  context.links.add(link)
  context.tables[to]!.setPeer(getName(from), context.costs.get(link) ?? 1)
  for (const key of SERVICES) send(context, from, to, key)
}

function deliver(context: Context, pick: number): boolean {
  const pending = [...context.mail.values()].filter((messages) => messages.length > 0)
  if (pending.length === 0) return false
  pending[pick % pending.length]!.shift()!()
  return true
}

/** Checks that no route contains a loop. */
function assertNoCircles({ tables }: Context): void {
  for (const [server, table] of tables.entries())
    for (const key of SERVICES)
      for (const { path } of table.list(key)) {
        if (path.includes(getName(server))) throw new Error('a route leads through its own server')
        if (new Set(path).size < path.length) throw new Error('a route contains a loop')
      }
}

/** Checks that every route has the cost of the shortest path. */
function assertCheapest({ tables, links, costs, own }: Context): void {
  for (const key of SERVICES) {
    const cheapest = tables.map((_, server) =>
      own.has(`${server} ${key}`) ? 0 : Number.POSITIVE_INFINITY,
    )
    for (let round = 0; round < SERVERS; round++)
      for (const link of links) {
        const [from, to] = link.split('>').map(Number) as [number, number]
        if (own.has(`${from} ${key}`)) continue
        cheapest[from] = Math.min(cheapest[from]!, cheapest[to]! + (costs.get(link) ?? 1))
      }
    for (const [server, table] of tables.entries()) {
      const route = table.find(key)
      const metric = own.has(`${server} ${key}`) ? 0 : route?.metric
      const expected = cheapest[server]!
      if ((metric ?? Number.POSITIVE_INFINITY) !== expected)
        throw new Error(`${key} from ${server}: ${metric}, not ${expected}`)
      // Every next hop of an equal-cost route is closer to the destination.
      for (const { path } of route?.ways ?? []) {
        const next = Number(path[0]!.slice(1))
        if (!(cheapest[next]! < expected))
          throw new Error('a route leads away from the destination')
      }
    }
  }
}

const SERVER = fc.nat(SERVERS - 1)
const STEP = fc.oneof(
  fc.record({ kind: fc.constant('link' as const), a: SERVER, b: SERVER }),
  fc.record({ kind: fc.constant('half' as const), a: SERVER, b: SERVER }),
  fc.record({ kind: fc.constant('own' as const), a: SERVER, b: fc.nat(SERVICES.length - 1) }),
  fc.record({ kind: fc.constant('cost' as const), a: SERVER, b: SERVER }),
  fc.record({ kind: fc.constant('mail' as const), a: fc.nat(), b: fc.nat() }),
)

t.test('routes are cheapest and free of loops under random changes', (t) => {
  fc.assert(
    fc.property(
      fc.array(STEP, { maxLength: 150, size: 'max' }),
      fc.infiniteStream(fc.nat()),
      (steps, picks) => {
        const context = createContext()
        const { tables, links, costs, own } = context
        for (const { kind, a, b } of steps) {
          if (kind === 'mail') for (let i = 0; i < b % 20; i++) deliver(context, a + i)
          else if (kind === 'own') {
            const key = SERVICES[b]!
            const has = own.delete(`${a} ${key}`)
            if (!has) own.add(`${a} ${key}`)
            tables[a]!.setLocal(key, has ? undefined : `of ${a}`)
          } else if (a === b) continue
          else if (kind === 'cost') {
            const cost = ((costs.get(getLink(a, b)) ?? 1) % 7) + 1
            costs.set(getLink(a, b), cost)
            if (links.has(getLink(a, b))) tables[a]!.setPeer(getName(b), cost)
          } else {
            toggle(context, a, b)
            if (kind === 'link' && links.has(getLink(a, b)) !== links.has(getLink(b, a)))
              toggle(context, b, a)
          }
          assertNoCircles(context)
        }
        let messageCount = 0
        while (deliver(context, picks.next().value)) {
          if (++messageCount > 100_000) throw new Error('the routes do not converge')
          assertNoCircles(context)
        }
        assertCheapest(context)
      },
    ),
    { numRuns: scaleRuns(300) },
  )
  t.end()
})
