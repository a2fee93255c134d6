import fc from 'fast-check'
import t from 'tap'
import type { Service } from '../../../core/contracts/registry.ts'
import { addNodes, applyEvent, findMissing } from '../../../core/registry/merge-versions.ts'
import { makeNode, makeService } from '../../fixtures/services.ts'

const [a, b, c] = ['127.0.0.1:1', '127.0.0.1:2', '127.0.0.1:3'] as [string, string, string]

const listIds = (services: readonly Service[]): string[] =>
  services.flatMap(({ nodes }) => nodes.map(({ id }) => id))

t.test('an event replaces the version it names', async (t) => {
  const latest = makeService('greeter', [a])
  const next = makeService('greeter', [b], 'next')
  t.same(applyEvent([], { type: 'create', service: latest }), [latest])
  t.same(applyEvent([latest, next], { type: 'update', service: makeService('greeter', [c]) }), [
    next,
    makeService('greeter', [c]),
  ])
  t.same(applyEvent([latest, next], { type: 'delete', service: latest }), [next])
})

t.test('findMissing returns the nodes that are no longer in any version', async (t) => {
  const [latest, next] = [makeService('greeter', [a, b]), makeService('greeter', [c], 'next')]
  const missing = (after: readonly Service[]): string[] =>
    findMissing([latest, next], after).map(({ service, node }) => `${service.version} ${node.id}`)
  t.same(missing([latest, next]), [])
  t.same(missing([]), [`latest ${a}`, `latest ${b}`, `next ${c}`])
  t.same(missing([makeService('greeter', [{ ...makeNode(c), id: a }])]), [
    `latest ${b}`,
    `next ${c}`,
  ])
  t.same(
    missing([makeService('greeter', [a, b, c], 'v3')]),
    [],
    'all nodes moved to another version',
  )
})

t.test('addNodes adds nodes to their version and restores a missing version', async (t) => {
  const [latest, next] = [makeService('greeter', [a]), makeService('greeter', [c], 'next')]
  const others = [
    { service: makeService('greeter', [a, b]), node: makeNode(b) },
    { service: next, node: makeNode(c) },
  ]
  t.same(addNodes([latest], others), [makeService('greeter', [a, b]), next])
  t.same(addNodes([], []), [])
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

t.test('adding the missing nodes yields every reported and every known node once', (t) => {
  fc.assert(
    fc.property(versions, versions, (known, events) => {
      const services = addNodes(events, findMissing(known, events))
      const ids = listIds(services)
      t.same(new Set(ids), new Set([...listIds(known), ...listIds(events)]))
      t.equal(ids.length, new Set(ids).size)
      t.same(findMissing(known, services), [])
    }),
  )
  t.end()
})
