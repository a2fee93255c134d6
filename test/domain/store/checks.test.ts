import t from 'tap'
import type { StoreChange } from '../../../core/contracts/store.ts'
import {
  checkApart,
  checkChange,
  checkName,
  checkPart,
  checkQuery,
  show,
} from '../../../domain/store/checks.ts'

const CHANGE: StoreChange = {
  table: { database: 'mx', table: 'things' },
  key: 'a',
  value: new Uint8Array(10),
  metadata: {},
  expiresMs: 8.64e15,
  ifVersion: Number.MAX_SAFE_INTEGER,
}

t.test('accepts well-formed input', (t) => {
  checkChange(CHANGE, 10)
  checkChange({ ...CHANGE, value: undefined, ifVersion: undefined, expiresMs: 0 }, 10)
  checkApart([CHANGE, { ...CHANGE, key: 'b' }, { ...CHANGE, table: { database: 'a', table: 'b' } }])
  checkQuery({})
  checkQuery({ prefix: '', suffix: 'b', from: '', to: 'c', after: 'd', limit: 0, offset: 10 })
  t.pass('nothing was thrown')
  t.end()
})

t.test('rejects malformed input with the name of the field', (t) => {
  t.throws(() => checkChange({ ...CHANGE, expiresMs: 1.5 }, 10), {
    code: 400,
    message: /^expiresMs/,
  })
  t.throws(() => checkChange({ ...CHANGE, value: new Uint8Array(11) }, 10), { message: /^value/ })
  t.throws(() => checkName('database', 'a b'), { code: 400, message: /^database .*got "a b"$/ })
  t.throws(() => checkPart('prefix', '\0'), { code: 400, message: /^prefix .*got "\\u0000"$/ })
  t.throws(() => checkQuery({ limit: 1e300 }), { code: 400, message: /^limit/ })
  t.end()
})

t.test('rejects a duplicate key of a table', (t) => {
  t.throws(() => checkApart([CHANGE, { ...CHANGE }]), {
    code: 400,
    message: /^keys .* got the duplicate "a"$/,
  })
  t.end()
})

t.test('truncates a long value in a message', (t) => {
  t.equal(show('x'.repeat(1000)).length, 100)
  t.equal(show(undefined), 'undefined')
  t.end()
})
