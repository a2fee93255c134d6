import t from 'tap'
import { checkService, isSameMap, isSameNode } from '../../../core/registry/service.ts'
import { makeNode, makeService } from '../../fixtures/services.ts'

t.test('a valid service passes', async (t) => {
  t.doesNotThrow(() => checkService(makeService('go.mx.api.greeter', ['a:1', '[::1]:2'])))
  t.doesNotThrow(() => checkService(makeService('greeter', [], '7f3a2c1')))
})

t.test('the error names the first malformed part', async (t) => {
  const cases: [Parameters<typeof checkService>[0], RegExp][] = [
    [makeService('a b', ['a:1']), /^service name must be .* got "a b"$/],
    [makeService('a', ['a:1'], 'a b'), /^version must be 1 to 253 visible ASCII .* got "a b"$/],
    [makeService('a', ['a:1'], 'v'.repeat(254)), /^version must be/],
    [makeService('a', [{ ...makeNode('a:1'), id: '' }]), /^node id must be .* got ""$/],
    [makeService('a', ['a']), /^address of node a must be host:port or \[IPv6\]:port, got "a"$/],
  ]
  for (const [service, message] of cases) {
    t.throws(() => checkService(service), { name: 'TypeError', message })
  }
})

t.test('maps are equal in any order, and inherited properties do not count', async (t) => {
  t.ok(isSameMap({}, {}))
  t.ok(isSameMap({ a: '1', b: '2' }, { b: '2', a: '1' }))
  t.notOk(isSameMap({ a: '1' }, { a: '2' }))
  t.notOk(isSameMap({ a: '1' }, { a: '1', b: '2' }))
  t.notOk(isSameMap({ toString: '1' }, { a: '1' }))
})

t.test('nodes are equal if all their properties are equal', async (t) => {
  const node = makeNode('a:1', { weight: '1' })
  t.ok(isSameNode(node, structuredClone(node)))
  t.notOk(isSameNode(node, { ...node, id: 'b' }))
  t.notOk(isSameNode(node, { ...node, address: 'a:2' }))
  t.notOk(isSameNode(node, { ...node, metadata: {} }))
})
