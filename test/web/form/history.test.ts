import t from 'tap'
import {
  addToHistory,
  clearHistory,
  type HistoryStorage,
  type Owner,
  type PastCall,
  readHistory,
} from '../../../web/form/history.ts'

/** Storage with a quota in characters. */
function openStore(quota = Number.POSITIVE_INFINITY): HistoryStorage {
  const items = new Map<string, string>()
  return {
    getItem: (key) => items.get(key) ?? null,
    setItem(key, value) {
      if (value.length > quota) throw new Error('QuotaExceededError')
      items.set(key, value)
    },
    removeItem: (key) => void items.delete(key),
  }
}

const ANN: Owner = { issuer: 'mx', id: 'ann' }

const CALL: PastCall = {
  ...{ at: 1, namespace: '', service: 'helloworld', endpoint: 'Helloworld.Call' },
  ...{ request: '{"name":"John"}', code: 200, tookMs: 5 },
}

t.test('stores at most a hundred calls per account and namespace, newest first', (t) => {
  const storage = openStore()
  for (let at = 1; at <= 120; at++) addToHistory(storage, ANN, { ...CALL, at })
  const calls = readHistory(storage, ANN)
  t.equal(calls.length, 100)
  t.equal(calls[0]?.at, 120)
  t.same(readHistory(storage, { ...ANN, id: 'bob' }), [])
  t.same(readHistory(storage, { ...ANN, issuer: 'acme' }), [], 'the same id in another namespace')
  clearHistory(storage, ANN)
  t.same(readHistory(storage, ANN), [])
  t.end()
})

t.test('omits a request that is too long to store', (t) => {
  const storage = openStore()
  addToHistory(storage, ANN, { ...CALL, request: 'x'.repeat(30_000) })
  t.equal(readHistory(storage, ANN)[0]?.request, undefined)
  t.equal(readHistory(storage, ANN).length, 1)
  t.end()
})

t.test('drops the oldest calls over the quota and ignores storage errors', (t) => {
  const small = openStore(500)
  for (let at = 1; at <= 10; at++) addToHistory(small, ANN, { ...CALL, at })
  const [last] = readHistory(small, ANN)
  t.equal(last?.at, 10)
  addToHistory(openStore(0), ANN, CALL)
  t.end()
})

t.test('ignores invalid stored data', (t) => {
  for (const text of ['{', '5', 'null', '[{}]', '[null]', '[{"at":"x"}]']) {
    const storage = openStore()
    storage.setItem('mx.calls.mx/ann', text)
    t.same(readHistory(storage, ANN), [], text)
  }
  t.end()
})
