import t from 'tap'
import { formatAs, formatEach, printDone, toFormat } from '../../../cli/ui/format.ts'

const VALUE = { name: 'a', tags: ['x', 'y: z'], none: {} }

t.test('a document is formatted as text, JSON with tabs, or YAML', async (t) => {
  t.equal(await formatAs('text', VALUE, 'as people see it\n'), 'as people see it\n')
  t.equal(await formatAs('json', { a: [1] }, ''), '{\n\t"a": [\n\t\t1\n\t]\n}\n')
  t.equal(await formatAs('yaml', VALUE, ''), 'name: a\ntags:\n  - x\n  - "y: z"\nnone: {}\n')
})

t.test('each item of a stream is one line of JSON or one YAML document', async (t) => {
  t.equal(await formatEach('text', VALUE), `${JSON.stringify(VALUE)}\n`)
  t.equal(await formatEach('json', VALUE), `${JSON.stringify(VALUE)}\n`)
  t.equal(await formatEach('yaml', { a: 1 }), '---\na: 1\n')
})

t.test(
  'text is the default format, and an unknown one is rejected with a suggestion',
  async (t) => {
    t.equal(toFormat({}), 'text')
    t.equal(toFormat({ output: 'yaml' }), 'yaml')
    t.throws(() => toFormat({ output: 'jsn' }), {
      message: 'Invalid output: jsn, must be text, json or yaml, did you mean json?',
      status: 2,
    })
  },
)

t.test(
  'a result is a document with -o json, a line on a terminal, otherwise nothing',
  async (t) => {
    const { isTTY } = process.stdout
    t.teardown(() => Object.assign(process.stdout, { isTTY }))
    const print = async (format: 'text' | 'json', terminal: boolean): Promise<string> => {
      process.stdout.isTTY = terminal
      const written = t.capture(process.stdout, 'write', () => true)
      try {
        await printDone(format, { key: 'k' }, 'k was written')
      } finally {
        written.restore()
      }
      return written()
        .map(({ args }) => String(args[0]))
        .join('')
    }
    t.equal(await print('text', true), 'k was written\n')
    t.equal(await print('text', false), '')
    for (const terminal of [true, false])
      t.equal(await print('json', terminal), '{\n\t"key": "k"\n}\n')
  },
)
