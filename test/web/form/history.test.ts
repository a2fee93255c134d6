import t from 'tap'
import {
  addToHistory,
  clearHistory,
  type HistoryStorage,
  type Owner,
  type PastCall,
  readHistory,
} from '../../../web/form/history.ts'

/** A store of so many characters. */
function openStore(room = Number.POSITIVE_INFINITY): HistoryStorage {
  const items = new Map<string, string>()
  return {
    getItem: (key) => items.get(key) ?? null,
    setItem(key, value) {
      if (value.length > room) throw new Error('QuotaExceededError')
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

t.test(
  'calls are kept by account and its namespace, the last one first, a hundred at most',
  (t) => {
    const kept = openStore()
    for (let at = 1; at <= 120; at++) addToHistory(kept, ANN, { ...CALL, at })
    const calls = readHistory(kept, ANN)
    t.equal(calls.length, 100)
    t.equal(calls[0]?.at, 120)
    t.same(readHistory(kept, { ...ANN, id: 'bob' }), [])
    t.same(readHistory(kept, { ...ANN, issuer: 'acme' }), [], 'the same id of another namespace')
    clearHistory(kept, ANN)
    t.same(readHistory(kept, ANN), [])
    t.end()
  },
)

t.test('a request too long to keep is left out of what is kept', (t) => {
  const kept = openStore()
  addToHistory(kept, ANN, { ...CALL, request: 'x'.repeat(30_000) })
  t.equal(readHistory(kept, ANN)[0]?.request, undefined)
  t.equal(readHistory(kept, ANN).length, 1)
  t.end()
})

t.test('where there is little room the oldest go; where there is none, nothing fails', (t) => {
  const small = openStore(500)
  for (let at = 1; at <= 10; at++) addToHistory(small, ANN, { ...CALL, at })
  const [last] = readHistory(small, ANN)
  t.equal(last?.at, 10)
  addToHistory(openStore(0), ANN, CALL)
  t.end()
})

t.test('what is there and is no history counts as none', (t) => {
  for (const text of ['{', '5', 'null', '[{}]', '[null]', '[{"at":"x"}]']) {
    const kept = openStore()
    kept.setItem('mx.calls.mx/ann', text)
    t.same(readHistory(kept, ANN), [], text)
  }
  t.end()
})
