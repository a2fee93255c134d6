import t from 'tap'
import { formatAs, formatEach, printDone, toFormat } from '../../../cli/ui/format.ts'

const VALUE = { name: 'a', tags: ['x', 'y: z'], none: {} }

t.test('a document is text, JSON with a tab per level, or YAML', async (t) => {
  t.equal(await formatAs('text', VALUE, 'as people see it\n'), 'as people see it\n')
  t.equal(await formatAs('json', { a: [1] }, ''), '{\n\t"a": [\n\t\t1\n\t]\n}\n')
  t.equal(await formatAs('yaml', VALUE, ''), 'name: a\ntags:\n  - x\n  - "y: z"\nnone: {}\n')
})

t.test('of a stream each is a line of JSON, or a document of YAML', async (t) => {
  t.equal(await formatEach('text', VALUE), `${JSON.stringify(VALUE)}\n`)
  t.equal(await formatEach('json', VALUE), `${JSON.stringify(VALUE)}\n`)
  t.equal(await formatEach('yaml', { a: 1 }), '---\na: 1\n')
})

t.test('text is what nobody has to ask for; others are refused', async (t) => {
  t.equal(toFormat({}), 'text')
  t.equal(toFormat({ output: 'yaml' }), 'yaml')
  t.throws(() => toFormat({ output: 'jsn' }), {
    message: 'Invalid output: jsn, must be text, json or yaml, did you mean json?',
    status: 2,
  })
})

t.test(
  'what is done is a document where one is wanted, a line on a terminal, else nothing',
  async (t) => {
    const { isTTY } = process.stdout
    t.teardown(() => Object.assign(process.stdout, { isTTY }))
    const told = async (format: 'text' | 'json', terminal: boolean): Promise<string> => {
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
    t.equal(await told('text', true), 'k was written\n')
    t.equal(await told('text', false), '')
    for (const terminal of [true, false])
      t.equal(await told('json', terminal), '{\n\t"key": "k"\n}\n')
  },
)
