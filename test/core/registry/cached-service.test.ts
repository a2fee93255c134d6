import t from 'tap'
import { Entry } from '../../../core/registry/cached-service.ts'
import { createPools, makeService } from '../../fixtures/services.ts'

const ONE = makeService('a', ['a:1'])
const TWO_NODES = makeService('a', ['a:1', 'a:2'])

function open(onUnreadable: () => void = () => {}) {
  const clock = { ms: 0 }
  const { createPool } = createPools()
  const entry = new Entry({
    name: 'a',
    upstream: { createPool },
    nowMs: () => clock.ms,
    onNodeDropped: onUnreadable,
  })
  /** Ids of the nodes in use; undefined without any version. */
  const use = (): string[] | undefined =>
    entry.use() ? entry.upstream.nodes.map(({ id }) => id).sort() : undefined
  return { clock, entry, use }
}

t.test('the nodes come from the last update', (t) => {
  const { entry, use } = open()
  entry.take([TWO_NODES], false)
  t.same(use(), ['a:1', 'a:2'])
  entry.take([ONE], false)
  t.same(use(), ['a:1'])
  entry.take([], false)
  t.equal(use(), undefined)
  t.end()
})

t.test('nodes missing from updates during an outage are retained for 95 s', (t) => {
  const { clock, entry, use } = open()
  entry.take([TWO_NODES], false)
  entry.take([ONE], true)
  entry.take([], true)
  t.same(use(), ['a:1', 'a:2'])
  entry.take([ONE], false)
  t.same(use(), ['a:1', 'a:2'])
  t.notOk(entry.expire())
  clock.ms = 95_000
  t.ok(entry.expire())
  t.same(use(), ['a:1'])
  t.end()
})

t.test('settle drops the retained nodes', (t) => {
  const { entry, use } = open()
  entry.take([TWO_NODES], false)
  t.notOk(entry.settle())
  entry.take([], true)
  t.ok(entry.settle())
  t.equal(use(), undefined)
  t.end()
})

t.test('a retained node is dropped when it rejects a connection, and other nodes remain', (t) => {
  let rejections = 0
  const { entry, use } = open(() => rejections++)
  entry.take([TWO_NODES], false)
  entry.take([ONE], true)
  t.same(use(), ['a:1', 'a:2'])
  const find = (id: string) => entry.upstream.nodes.find((node) => node.id === id)!
  entry.upstream.failed(find('a:1'), 'connect')
  t.equal(rejections, 0)
  entry.upstream.failed(find('a:2'), 'connect')
  t.equal(rejections, 1)
  t.same(use(), ['a:1'])
  t.end()
})
