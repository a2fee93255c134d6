import t from 'tap'
import { HiddenValues } from '../../../../platform/config/references/hidden-values.ts'

const TOKEN = `\${TOKEN}`

t.test('replaces values, including JSON-encoded and truncated ones', (t) => {
  const hidden = new HiddenValues()
  hidden.add('pass"word', TOKEN, 'secret')
  hidden.add('a-long-value-of-a-token', `\${file:t}`, 'secret')
  t.equal(hidden.hide('x pass"word y'), `x ${TOKEN} y`)
  t.equal(hidden.hide(JSON.stringify({ a: 'pass"word' })), `{"a":"${TOKEN}"}`)
  t.equal(hidden.hide('got "a-long-value... and more'), `got "\${file:t}... and more`)
  t.same(hidden.hideDeep({ a: ['pass"word', 1, null] }), { a: [TOKEN, 1, null] })
  t.end()
})

t.test('replaces values that were converted to upper or lower case', (t) => {
  const hidden = new HiddenValues()
  hidden.add('Pass"Word', TOKEN, 'secret')
  t.equal(hidden.hide('got "pass\\"word", PASS"WORD'), `got "${TOKEN}", ${TOKEN}`)
  t.equal(hidden.hideInLog('ENOTFOUND pass"word.example'), `ENOTFOUND ${TOKEN}.example`)
  t.end()
})

t.test('replaces other values only as complete words, and never replaces short words', (t) => {
  const hidden = new HiddenValues()
  hidden.add('gate', `\${A}`, 'private')
  hidden.add('7', `\${B}`, 'private')
  hidden.add('true', `\${C}`, 'private')
  t.equal(hidden.hide('the gate of a gateway is true, 7'), `the \${A} of a gateway is true, 7`)
  t.end()
})

t.test('logs hide secrets and long options, and show addresses and names', (t) => {
  const hidden = new HiddenValues()
  hidden.add('hunter2', TOKEN, 'secret')
  hidden.add('a longer text', `\${TEXT}`, 'private')
  hidden.add('info', `\${LEVEL}`, 'private')
  hidden.add('127.0.0.1', `\${HOST}`, 'public')
  t.equal(
    hidden.hideInLog('info: 127.0.0.1 a longer text xhunter2x'),
    `info: 127.0.0.1 \${TEXT} x${TOKEN}x`,
  )
  t.end()
})

t.test('a secret remains secret when the same value is used elsewhere', (t) => {
  const hidden = new HiddenValues()
  hidden.add('hunter2', TOKEN, 'secret')
  hidden.add('hunter2', `\${NAME}`, 'public')
  t.equal(hidden.hideInLog('hunter2'), `\${NAME}`)
  t.end()
})

t.test('hides values in an error, its problems and its cause', async (t) => {
  const hidden = new HiddenValues()
  hidden.add('hunter2', TOKEN, 'secret')
  const error = Object.assign(new Error('a hunter2', { cause: new Error('b hunter2') }), {
    problems: ['c hunter2'],
  })
  await t.rejects(
    hidden.guard(async () => {
      throw error
    }),
    { message: `a ${TOKEN}`, problems: [`c ${TOKEN}`], cause: { message: `b ${TOKEN}` } },
  )
  t.notMatch(error.stack, /hunter2/)
})
