import fc from 'fast-check'
import t from 'tap'
import type { Service } from '../../../core/contracts/registry.ts'
import { addMissing, follow } from '../../../core/directory/versions.ts'
import { makeNode, makeService } from '../../fixtures/services.ts'

const [a, b, c] = ['127.0.0.1:1', '127.0.0.1:2', '127.0.0.1:3'] as [string, string, string]

const idsOf = (services: readonly Service[]): string[] =>
  services.flatMap(({ nodes }) => nodes.map(({ id }) => id))

t.test('an event replaces the version it is about', async (t) => {
  const latest = makeService('greeter', [a])
  const next = makeService('greeter', [b], 'next')
  t.same(follow([], { type: 'create', service: latest }), [latest])
  t.same(follow([latest, next], { type: 'update', service: makeService('greeter', [c]) }), [
    next,
    makeService('greeter', [c]),
  ])
  t.same(follow([latest, next], { type: 'delete', service: latest }), [next])
})

t.test('nodes and versions that are not told any more are added', async (t) => {
  const known = [makeService('greeter', [a, b]), makeService('greeter', [c], 'next')]
  t.same(addMissing(known, []), known)
  t.same(addMissing(known, [makeService('greeter', [b])]), [
    makeService('greeter', [b, a]),
    known[1],
  ])
  t.same(addMissing([makeService('greeter', [])], []), [makeService('greeter', [])])
})

t.test('what is told counts: of a node that has changed or moved there is one', async (t) => {
  const known = [makeService('greeter', [a, b])]
  const changed = [makeService('greeter', [{ ...makeNode(c), id: a }])]
  t.same(addMissing(known, changed), [makeService('greeter', [{ ...makeNode(c), id: a }, b])])
  const moved = [makeService('greeter', [a, b], 'next')]
  t.equal(addMissing(known, moved), moved)
})

const versions = fc.uniqueArray(fc.constantFrom('v1', 'v2', 'v3')).chain((names) =>
  fc.tuple(
    ...names.map((version) =>
      fc.uniqueArray(fc.constantFrom('n1', 'n2', 'n3', 'n4'), { minLength: 1 }).map((ids) =>
        makeService(
          'greeter',
          ids.map((id) => ({ ...makeNode(a), id: `${version}-${id}` })),
          version,
        ),
      ),
    ),
  ),
)

t.test('nothing that was told or known is missing, and nothing is there that was neither', (t) => {
  fc.assert(
    fc.property(versions, versions, (known, told) => {
      const services = addMissing(known, told)
      const expected = new Set([...idsOf(known), ...idsOf(told)])
      const ids = idsOf(services)
      t.same(new Set(ids), expected)
      t.equal(ids.length, expected.size)
      // Adding again adds nothing; and where nothing was missing, it is what was told.
      t.equal(addMissing(services, services), services)
      if (idsOf(told).length === expected.size) t.equal(services, told)
    }),
  )
  t.end()
})
