import t from 'tap'
import { readCommandLine } from '../../../cli/args/args.ts'
import type { CliError } from '../../../cli/ui/output.ts'

const FLAGS = {
  '--password <password>': '',
  '--old_password <password>': '',
  '--force': '',
  '--env_vars <name=value>...': '',
  '-o, --output <format>': '',
  '-n, --lines <n>': '',
  '-f, --follow': '',
  '-p, --prefix [text]': '',
}
const read = (...args: string[]) => readCommandLine('login', args, FLAGS)

t.test('values of flags and words remain strings as typed', async (t) => {
  const { words, flags } = read('007', '--password', '0123', '--old_password=1e3', 'x', '--force')
  t.same(words, ['007', 'x'])
  t.same({ ...flags }, { password: '0123', old_password: '1e3', force: true })
})

t.test('dashes and underscores in flag names are equivalent, values are unchanged', async (t) => {
  t.same({ ...read('--old-password=a-b_c').flags }, { old_password: 'a-b_c' })
  t.same({ ...read('--password', 'a=b=c').flags }, { password: 'a=b=c' })
})

t.test('short flags may be combined and joined with their value', async (t) => {
  t.same({ ...read('-o', 'json').flags }, { output: 'json' })
  t.same({ ...read('-fn', '5').flags }, { follow: true, lines: '5' })
  t.same({ ...read('-n5').flags }, { lines: '5' })
})

t.test('a repeated flag returns its values in order', async (t) => {
  t.same({ ...read('--env_vars=B=1', '--env-vars', 'A=2').flags }, { env_vars: ['B=1', 'A=2'] })
})

t.test('a negative number is a value, not a flag', async (t) => {
  const { words, flags } = read('-5', '-1.5e3', '--lines', '-1', '--env_vars', '-2', '--force')
  t.same(words, ['-5', '-1.5e3'])
  t.same({ ...flags }, { lines: '-1', env_vars: ['-2'], force: true })
})

t.test('a flag with an optional value is empty without one', async (t) => {
  for (const words of [['-p', 'x'], ['--prefix', 'x'], ['--prefix=x']])
    t.same({ ...read(...words).flags }, { prefix: 'x' })
  for (const words of [['-p'], ['--prefix', '--force'], ['--prefix=', '--force'], ['-p', '--']])
    t.match({ ...read(...words).flags }, { prefix: '' })
  t.same({ ...read('-p', '-5').flags }, { prefix: '-5' })
  t.same({ ...read('-p', '-').flags }, { prefix: '-' })
})

t.test('words after -- are not flags', async (t) => {
  const { words, flags } = read('a', '--', '--old-password', '-5', '-p')
  t.same(words, ['a', '--old-password', '-5', '-p'])
  t.same({ ...flags }, {})
})

t.test('--target is an alias of --env', async (t) => {
  const read = (...args: string[]) => readCommandLine('call', args, { '--env <name>': '' }).flags
  t.same(read('--target', 'staging'), { env: 'staging' })
  t.same(read('--target=staging'), { env: 'staging' })
})

const invalid: [args: string[], message: string][] = [
  [['--pasword=x'], "unknown flag --pasword, did you mean --password? See 'mx login --help'"],
  [['--zzzzzzzz'], "unknown flag --zzzzzzzz. See 'mx login --help'"],
  [['--password'], "--password needs a value. See 'mx login --help'"],
  [['--force=yes'], "--force takes no value. See 'mx login --help'"],
]
for (const [args, message] of invalid)
  t.test(`${args.join(' ')} is rejected with a hint`, async (t) => {
    t.throws(() => read(...args), { message, status: 2 } satisfies Partial<CliError>)
  })
