import fc from 'fast-check'
import t from 'tap'
import { MAX_ADVERTISED_BYTES, MAX_DESTINATIONS } from '../../../domain/mesh/limits.ts'
import type { RouteUpdate } from '../../../domain/mesh/messages.ts'
import {
  createRouteAdvertiser,
  type RouteAdvertiser,
} from '../../../domain/mesh/route-advertiser.ts'
import { createRouteReceiver } from '../../../domain/mesh/route-receiver.ts'
import { createRouteTable, type RouteTable } from '../../../domain/mesh/routing-table.ts'
import { scaleRuns } from '../../fixtures/property-runs.ts'

const ALL = Number.POSITIVE_INFINITY

/** Opens a table with an advertiser for its peer p. */
function open(services: Readonly<Record<string, string>> = {}) {
  const table = createRouteTable({ id: 'a', onChange: (key) => advertiser.mark(key) })
  let limitReports = 0
  const create = () => createRouteAdvertiser({ table, peer: 'p', onTooMuch: () => limitReports++ })
  let advertiser = create()
  for (const [key, entry] of Object.entries(services)) table.setLocal(key, entry)
  advertiser = create()
  return {
    table,
    advertiser,
    tooMuch: () => limitReports,
    takeMessages: (maxBytes = ALL) => advertiser.take(maxBytes).map(toText),
  }
}

const toText = ({ key, advertised }: RouteUpdate): string =>
  advertised === undefined
    ? `${key} gone`
    : `${key} ${advertised.path.join('')} ${advertised.metric} ${advertised.entry}`

t.test('sends all routes to a new peer, and then changes', (t) => {
  const { table, advertiser, takeMessages } = open({ x: '1', y: '2' })
  t.ok(advertiser.isPending())
  t.strictSame(takeMessages(), ['x a 0 1', 'y a 0 2'])
  t.notOk(advertiser.isPending())
  t.strictSame(takeMessages(), [])
  table.setPeer('b', 3)
  table.applyRoute('b', 'z', { path: ['b'], metric: 0, entry: '3' })
  table.setLocal('x', undefined)
  t.strictSame(takeMessages(), ['z ab 3 3', 'x gone'])
  t.end()
})

t.test('sends servers before their services, and withdraws them afterwards', (t) => {
  const { table, takeMessages } = open({ '@a': '1', s: '2' })
  t.strictSame(takeMessages(), ['s a 0 2', '@a a 0 1'])
  table.setLocal('s', undefined)
  table.setLocal('@a', undefined)
  t.strictSame(takeMessages(1), ['@a gone'])
  t.strictSame(takeMessages(), ['s gone'])
  t.end()
})

t.test('sends the latest state of each destination', (t) => {
  const { table, takeMessages } = open({ x: '1' })
  table.setLocal('x', '2')
  table.setLocal('y', '1')
  table.setLocal('y', undefined)
  t.strictSame(takeMessages(), ['x a 0 2'], 'a destination never sent is not withdrawn')
  t.end()
})

t.test('sends no route to a peer that is part of it', (t) => {
  const { table, takeMessages } = open()
  table.setPeer('b', 1)
  table.applyRoute('b', 'x', { path: ['b'], metric: 0, entry: '1' })
  t.strictSame(takeMessages(), ['x ab 1 1'])
  table.applyRoute('b', 'x', { path: ['b', 'p'], metric: 1, entry: '1' })
  t.strictSame(takeMessages(), ['x gone'])
  t.end()
})

t.test('splits updates into messages of at least one entry', (t) => {
  const { takeMessages } = open({ x: 'x'.repeat(5000), y: 'y'.repeat(5000), z: 'z' })
  t.strictSame(
    [takeMessages(1).length, takeMessages(9000).length, takeMessages().length],
    [1, 2, 0],
  )
  t.end()
})

t.test('respects the limits of a peer and sends the rest once there is room', (t) => {
  const many = Object.fromEntries(
    Array.from({ length: MAX_DESTINATIONS }, (_, i) => [`s${i}`, '1']),
  )
  const { table, takeMessages, tooMuch } = open(many)
  t.equal(takeMessages().length, MAX_DESTINATIONS)
  t.equal(tooMuch(), 0)
  table.setLocal('late', '2')
  t.strictSame(takeMessages(), [])
  t.equal(tooMuch(), 1)
  table.setLocal('s1', '3')
  table.setLocal('s2', undefined)
  t.strictSame(takeMessages(), ['s1 a 0 3', 's2 gone', 'late a 0 2'])
  const big = 'x'.repeat(MAX_ADVERTISED_BYTES / 2)
  table.setLocal('big', big)
  t.strictSame(takeMessages(), [])
  for (const key of ['s3', 's4']) table.setLocal(key, big)
  t.strictSame(
    takeMessages().map((text) => text.slice(0, 9)),
    ['s3 a 0 xx', 's4 gone'],
    'an entry that became too long is withdrawn',
  )
  t.equal(tooMuch(), 1, 'reported once')
  t.end()
})

t.test('reserves room for servers', (t) => {
  const many = Object.fromEntries(
    Array.from({ length: MAX_DESTINATIONS }, (_, i) => [`s${i}`, '1']),
  )
  const { takeMessages } = open({ ...many, '@a': '1' })
  const events = takeMessages()
  t.equal(events.length, MAX_DESTINATIONS)
  t.equal(events.at(-1), '@a a 0 1')
  t.end()
})

t.test('keeps services after their servers under random link changes', (t) => {
  const SERVERS = 5
  const SERVER = fc.nat(SERVERS - 1)
  const STEP = fc.record({ a: SERVER, b: SERVER, kind: fc.nat(2), moves: fc.nat(20) })
  const owners: Readonly<Record<string, string>> = { s: '@n0', t: '@n1', u: '@n1' }

  /** Servers that exchange the updates of their advertisers, in small parts and delayed. */
  function run(
    steps: readonly { a: number; b: number; kind: number; moves: number }[],
    pick: () => number,
  ) {
    const tables: RouteTable[] = []
    const links = new Map<
      string,
      {
        advertiser: RouteAdvertiser
        mail: RouteUpdate[][]
        receive: ReturnType<typeof createRouteReceiver>
      }
    >()
    const known = new Set<string>()
    const onChange = (server: number, key: string): void => {
      for (const [link, { advertiser }] of links)
        if (link.endsWith(`>${server}`)) advertiser.mark(key)
      const { find, findLocal: findOwn } = tables[server]!
      if (owners[key] === undefined || findOwn(key) !== undefined) return
      if (find(key) !== undefined) return void known.add(`${server} ${key}`)
      if (!known.delete(`${server} ${key}`) || find(owners[key]!) === undefined) return
      throw new Error(`n${server} considers ${key} withdrawn`)
    }
    for (let i = 0; i < SERVERS; i++)
      tables.push(createRouteTable({ id: `n${i}`, onChange: (key) => onChange(i, key) }))
    for (const [i, { setLocal: setOwn }] of tables.entries()) setOwn(`@n${i}`, '{}')
    for (const [key, owner] of Object.entries(owners))
      tables[Number(owner.slice(2))]!.setLocal(key, '[]')
    const toggle = (to: number, from: number): void => {
      if (links.delete(`${to}>${from}`)) return tables[to]!.removePeer(`n${from}`)
      tables[to]!.setPeer(`n${from}`, 1)
      links.set(`${to}>${from}`, {
        advertiser: createRouteAdvertiser({
          table: tables[from]!,
          peer: `n${to}`,
          onTooMuch: () => {},
        }),
        mail: [],
        receive: createRouteReceiver(tables[to]!, `n${from}`),
      })
    }
    for (const { a, b, kind, moves } of steps) {
      if (a === b) continue
      if (kind < 2) toggle(a, b)
      if (kind === 0) toggle(b, a)
      if (kind === 2 && links.has(`${a}>${b}`)) tables[a]!.setPeer(`n${b}`, 1 + (pick() % 5))
      for (let i = 0; i < moves && links.size > 0; i++) {
        const { advertiser, mail, receive } = [...links.values()][pick() % links.size]!
        if (pick() % 2 === 0) mail.push(advertiser.take(ALL))
        else receive(mail.shift() ?? [])
      }
    }
  }

  fc.assert(
    fc.property(
      fc.array(STEP, { maxLength: 100, size: 'max' }),
      fc.infiniteStream(fc.nat()),
      (steps, picks) => run(steps, () => picks.next().value),
    ),
    { numRuns: scaleRuns(300) },
  )
  t.end()
})

t.test('applies the same limits as the receiver', (t) => {
  const { table, advertiser } = open()
  const update = (key: string, entry: string): RouteUpdate => ({
    key,
    advertised: { path: ['a'], metric: 0, entry },
  })
  const received = createRouteTable({ id: 'p', onChange: () => {} })
  received.setPeer('a', 1)
  const receive = createRouteReceiver(received, 'a')
  for (let i = 0; i < MAX_DESTINATIONS + 10; i++) table.setLocal(`s${i}`, '1')
  receive(advertiser.take(ALL))
  table.setLocal('s1', 'x'.repeat(MAX_ADVERTISED_BYTES - MAX_DESTINATIONS + 1))
  table.setLocal('s2', undefined)
  receive(advertiser.take(ALL))
  t.equal([...received.keys()].length, MAX_DESTINATIONS)
  t.throws(() => receive([update('one-more', '1')]), {
    name: 'TypeError',
    message: /^routes must have at/,
  })
  const other = createRouteReceiver(received, 'a')
  t.throws(() => other([update('x', 'x'.repeat(MAX_ADVERTISED_BYTES + 1))]), { name: 'TypeError' })
  t.end()
})
