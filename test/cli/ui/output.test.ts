import t from 'tap'
import { CliError, findWidth, formatColumns, printProblems } from '../../../cli/ui/output.ts'

const { isTTY, columns } = process.stdout
t.teardown(() => Object.assign(process.stdout, { isTTY, columns }))

t.test('the width comes from the terminal or COLUMNS, and is unlimited in a pipe', (t) => {
  Object.assign(process.stdout, { isTTY: true, columns: 72 })
  delete process.env['COLUMNS']
  t.equal(findWidth(), 72)
  for (const [text, width] of [
    ['60', 60],
    ['0', 72],
    ['wide', 72],
    ['', 72],
  ] as const) {
    process.env['COLUMNS'] = text
    t.equal(findWidth(), width, text)
  }
  delete process.env['COLUMNS']
  process.stdout.columns = 0
  t.equal(findWidth(), undefined, 'a terminal of unknown width')
  process.env['COLUMNS'] = '60'
  process.stdout.isTTY = false
  t.equal(findWidth(), undefined)
  delete process.env['COLUMNS']
  t.end()
})

t.test('the second of two columns wraps', (t) => {
  t.equal(
    formatColumns([['--a', 'one two three four five six seven eight']], 40),
    '  --a  one two three four five six seven\n       eight',
  )
  t.end()
})

t.test('the default exit status of an error is 1', (t) => {
  t.equal(new CliError('x').status, 1)
  t.end()
})

t.test('escape sequences in an error are replaced by spaces', (t) => {
  const written = t.capture(process.stderr, 'write', () => true)
  printProblems(['\u001b[2Jgone\r', 'a\n  b'])
  written.restore()
  t.same(written()[0]?.args, ['mx:  [2Jgone \nmx: a\n  b\n'])
  t.end()
})
