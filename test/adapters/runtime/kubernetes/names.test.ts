import t from 'tap'
import {
  toId,
  toKubernetesNamespace,
  toLabelValue,
  toSecretName,
} from '../../../../adapters/runtime/kubernetes/names.ts'

/** RFC 1035 label, as required for names of Services. */
const LABEL = /^[a-z](?:[a-z0-9-]*[a-z0-9])?$/

t.test('builds valid object names for any workload', async (t) => {
  for (const [name, version] of [
    ['shop', 'latest'],
    ['9', 'v1.2'],
    ['Go.Mx.Api_Shop', 'feature/x-1'],
    ['x'.repeat(63), 'y'.repeat(64)],
    ['a'.repeat(40), '-/-'],
  ] as const) {
    const id = toId({ namespace: 'mx', name, version })
    t.match(id, LABEL)
    t.ok(id.length <= 46, 'pod host names have at most 63 characters')
    const secret = toSecretName(id, { a: 'b' })
    t.match(secret, LABEL)
    t.ok(secret.length <= 63)
  }
  t.match(
    toId({ namespace: 'mx', name: 'shop', version: 'latest' }),
    /^mx-shop-latest-[0-9a-f]{10}$/,
  )
})

t.test('builds unique names', async (t) => {
  const keys = [
    ['mx', 'a-b', 'c'],
    ['mx', 'a', 'b-c'],
    ['mx', 'A', 'b-c'],
    ['mx', 'a', 'b/c'],
    ['acme', 'a', 'b-c'],
    ['mx', `${'x'.repeat(60)}a`, 'v'],
    ['mx', `${'x'.repeat(60)}b`, 'v'],
  ] as const
  const ids = keys.map(([namespace, name, version]) => toId({ namespace, name, version }))
  t.equal(new Set(ids).size, keys.length)
})

t.test('names a Secret by its contents in any order', async (t) => {
  const name = toSecretName('id', { a: '1', b: '2' })
  t.equal(toSecretName('id', { b: '2', a: '1' }), name)
  t.not(toSecretName('id', { a: '1', b: '3' }), name)
  t.not(toSecretName('id', { a: '1' }), name)
})

t.test('maps a namespace to a Kubernetes namespace derived from the namespace of mx', async (t) => {
  t.equal(toKubernetesNamespace('mx', 'shop'), 'shop')
  t.equal(toKubernetesNamespace('acme', 'shop'), 'shop-acme')
  const others = ['Acme', 'ac.me', 'ac_me', 'x'.repeat(253)].map((name) =>
    toKubernetesNamespace(name, 'shop'),
  )
  for (const name of others) {
    t.match(name, LABEL)
    t.ok(name.length <= 63)
    t.match(name, /-[0-9a-f]{10}$/)
    t.not(toKubernetesNamespace(name.slice('shop-'.length), 'shop'), name, 'the name is unique')
  }
  t.equal(new Set(others).size, others.length)
})

t.test('truncates label values', async (t) => {
  t.equal(toLabelValue('Go.Mx_api-1'), 'Go.Mx_api-1')
  t.equal(toLabelValue('feature/x'), 'feature-x')
  t.equal(toLabelValue('/x/'), 'x')
  t.equal(toLabelValue(`${'a'.repeat(62)}/b`), 'a'.repeat(62))
})
