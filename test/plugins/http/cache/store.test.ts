import t from 'tap'
import { HeaderList } from '../../../../core/http/headers.ts'
import type { CacheTarget } from '../../../../plugins/http/cache/cache-key.ts'
import type { ResponsePolicy } from '../../../../plugins/http/cache/response-policy.ts'
import { ResponseStore } from '../../../../plugins/http/cache/store.ts'
import {
  type StoredResponse,
  toStoredHead,
  toStoredResponse,
} from '../../../../plugins/http/cache/stored-response.ts'

const POLICY: ResponsePolicy = {
  ...{ lifetimeMs: 1000, initialAgeMs: 0, responseMs: 0, mustValidate: false, allowsStale: true },
  ...{ staleWhileRevalidateMs: 0, staleIfErrorMs: 0, isShareable: false, excluded: [] },
}
const NONE = new HeaderList()

function toTarget(path: string, namespace = 'shop'): CacheTarget {
  const origin = 'http://a.example'
  return { namespace, service: 'shop.site', origin, path, uriKey: `${namespace}${path}` }
}

function toResponse(body = '', groups = '', values = '', names: string[] = []): StoredResponse {
  const headers = new HeaderList(groups === '' ? [] : ['surrogate-key', groups])
  const head = toStoredHead(200, headers, POLICY, { names, values })
  return toStoredResponse(head, Buffer.from(body))
}

function open(maxBytes = 100_000, maxVariants = 2): ResponseStore {
  return new ResponseStore({ maxBytes, maxVariants })
}

t.test('replaces the response with the same selection and limits the others', (t) => {
  const store = open()
  const toVariant = (value: string, body: string) => toResponse(body, '', `=${value}\n`, ['x'])
  for (const [value, body] of ['a1', 'b2', 'a3', 'c4'])
    store.set('k', toTarget('/'), toVariant(value!, body!), 1)
  const find = (value: string) => store.find('k', new HeaderList(['x', value]))?.body.toString()
  t.strictSame(['a', 'b', 'c'].map(find), ['3', undefined, '4'])
  t.strictSame(store.findVary('k'), ['x'])
  t.equal(store.findVary('other'), undefined)
  t.end()
})

t.test('evicts the least recently used responses beyond its size', (t) => {
  const store = open(5000)
  for (const key of ['a', 'b', 'c'])
    store.set(key, toTarget(`/${key}`), toResponse('x'.repeat(800)), 1)
  store.find('a', NONE)
  store.set('d', toTarget('/d'), toResponse('x'.repeat(800)), 1)
  t.strictSame(
    ['a', 'b', 'c', 'd'].map((key) => store.find(key, NONE) !== undefined),
    [true, false, true, true],
  )
  t.ok(store.bytes <= 5000)
  store.set('large', toTarget('/large'), toResponse('x'.repeat(6000)), 1)
  t.equal(store.find('large', NONE), undefined)
  t.end()
})

t.test('removes all responses for a URI, and later those requested before', (t) => {
  const store = open()
  store.set('a', toTarget('/'), toResponse(), 1)
  store.set('b', toTarget('/'), toResponse(), 1)
  store.set('c', toTarget('/', 'other'), toResponse(), 1)
  store.invalidate('shop/', 5)
  t.strictSame(
    ['a', 'b', 'c'].map((key) => store.find(key, NONE) !== undefined),
    [false, false, true],
  )
  store.set('a', toTarget('/'), toResponse(), 5)
  t.equal(store.find('a', NONE), undefined)
  store.set('a', toTarget('/'), toResponse(), 6)
  t.ok(store.find('a', NONE))
  t.end()
})

t.test('replaces and deletes only responses that it contains', (t) => {
  const store = open()
  const [old, next] = [toResponse('old'), toResponse('next')]
  store.replace('a', old, next)
  store.delete('a', old)
  t.equal(store.find('a', NONE), undefined)
  store.set('a', toTarget('/'), old, 1)
  store.replace('a', old, next)
  t.equal(store.find('a', NONE), next)
  store.delete('a', next)
  t.equal(store.find('a', NONE), undefined)
  t.end()
})

t.test('purges by path, group, service, origin and namespace', (t) => {
  for (const [selection, removed] of [
    [{}, ['/a', '/a/b', '/c']],
    [{ path: '/a' }, ['/a']],
    [{ path: '/a*' }, ['/a', '/a/b']],
    [{ path: '/*' }, ['/a', '/a/b', '/c']],
    [{ group: 'g1' }, ['/a', '/c']],
    [{ group: 'g1', path: '/a*' }, ['/a']],
    [{ service: 'site' }, ['/a', '/a/b', '/c']],
    [{ service: 'shop.site' }, ['/a', '/a/b', '/c']],
    [{ service: 'other' }, []],
    [{ origin: 'http://b.example' }, []],
    [{ namespace: 'other' }, []],
  ] as const) {
    const store = open()
    const groups = { '/a': 'g1 g2', '/a/b': 'g2', '/c': 'g1' }
    for (const [path, group] of Object.entries(groups))
      store.set(path, toTarget(path), toResponse('', group), 1)
    t.equal(store.purge(selection, 5), removed.length, JSON.stringify(selection))
    const left = Object.keys(groups).filter((path) => store.find(path, NONE) !== undefined)
    t.strictSame(
      left,
      Object.keys(groups).filter((path) => !(removed as readonly string[]).includes(path)),
    )
  }
  const store = open()
  store.purge({ namespace: 'shop' }, 5)
  store.set('a', toTarget('/'), toResponse(), 5)
  store.set('b', toTarget('/', 'other'), toResponse(), 5)
  t.equal(store.find('a', NONE), undefined, 'requested before the purge')
  t.ok(store.find('b', NONE), 'another namespace')
  store.purge({}, 7)
  store.set('b', toTarget('/', 'other'), toResponse(), 7)
  t.equal(store.find('b', NONE), undefined)
  t.end()
})
