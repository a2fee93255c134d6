import t from 'tap'
import { rejectUnknownOptions } from '../../../lib/object/known-options.ts'

const KNOWN = { address: true, timeoutMs: true }

t.test('an unknown option throws an error that suggests a known one', async (t) => {
  const reject = (options: unknown) => rejectUnknownOptions('new Thing', options as object, KNOWN)
  t.doesNotThrow(() => reject({}))
  t.doesNotThrow(() => reject({ address: 'a', timeoutMs: undefined }))
  t.throws(() => reject({ adress: 'a' }), {
    name: 'TypeError',
    message: 'new Thing: unknown option adress, did you mean address?',
  })
  t.throws(() => reject({ timeout: 3 }), /unknown option timeout, did you mean timeoutMs\?/)
  t.throws(() => reject({ colour: 3 }), /unknown option colour; known: address, timeoutMs/)
  t.throws(() => reject({ toString: 3 }), /unknown option toString/)
})

t.test('options that are not an object are rejected', async (t) => {
  for (const [options, printed] of [
    [undefined, 'undefined'],
    [null, 'null'],
    ['a:1', '"a:1"'],
  ] as const)
    t.throws(() => rejectUnknownOptions('new Thing', options as never, KNOWN), {
      message: `new Thing: options must be an object, got ${printed}`,
    })
})

t.test('an object with custom members is rejected only for likely misspellings', async (t) => {
  t.doesNotThrow(() => rejectUnknownOptions('thing', { colour: 3 }, KNOWN, true))
  t.throws(
    () => rejectUnknownOptions('thing', { adress: 3 }, KNOWN, true),
    /did you mean address\?/,
  )
})
