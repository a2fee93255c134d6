import t from 'tap'
import { runSubcommand } from '../../../cli/args/subcommands.ts'

const called: string[] = []
const FORMS = [
  ...['', 'namespace', 'namespace set <name>', 'copy <from> <to>', 'list [path]'],
  ...['publish <topic> [message]', 'connect <address>...'],
]
const SUBCOMMANDS = Object.fromEntries(
  FORMS.map((form) => [
    form,
    async (args: readonly (string | undefined)[], flags: string) => {
      called.push(`${form.replaceAll(/ ?[[<].*/g, '')}(${args.join(' ')}) ${flags}`)
    },
  ]),
)
const run = async (...words: string[]): Promise<string | undefined> => {
  called.length = 0
  await runSubcommand('user', SUBCOMMANDS, words, 'flags')
  return called[0]
}

t.test('the longest matching subcommand runs with its arguments', async (t) => {
  t.equal(await run(), '() flags')
  t.equal(await run('namespace'), 'namespace() flags')
  t.equal(await run('namespace', 'set', 'acme'), 'namespace set(acme) flags')
  t.equal(await run('copy', 'a', 'b'), 'copy(a b) flags')
})

t.test('arguments in brackets are optional, and `...` accepts several', async (t) => {
  t.equal(await run('list'), 'list() flags')
  t.equal(await run('list', 'a'), 'list(a) flags')
  t.equal(await run('connect', 'a', 'b', 'c'), 'connect(a b c) flags')
})

const invalid: [words: string[], message: string][] = [
  [
    ['namspace'],
    "Unrecognized subcommand for mx user: namspace, did you mean namespace? See 'mx user --help'",
  ],
  [
    ['zzzzzzz'],
    "Unrecognized subcommand for mx user: zzzzzzz, the subcommands are namespace, namespace set, copy, list, publish, connect. See 'mx user --help'",
  ],
  [['namespace', 'set'], "Too few arguments, expected one argument: NAME. See 'mx user --help'"],
  [['namespace', 'acme'], "Too many arguments, expected no arguments. See 'mx user --help'"],
  [
    ['namespace', 'set', 'a', 'b'],
    "Too many arguments, expected one argument: NAME. See 'mx user --help'",
  ],
  [['copy', 'a'], "Too few arguments, expected 2 arguments: FROM TO. See 'mx user --help'"],
  [
    ['list', 'a', 'b'],
    "Too many arguments, expected at most one argument: [PATH]. See 'mx user --help'",
  ],
  [
    ['publish'],
    "Too few arguments, expected 1 to 2 arguments: TOPIC [MESSAGE]. See 'mx user --help'",
  ],
  [
    ['connect'],
    "Too few arguments, expected at least one argument: ADDRESS.... See 'mx user --help'",
  ],
]
for (const [words, message] of invalid)
  t.test(`mx user ${words.join(' ')} is rejected with the expected form`, async (t) => {
    await t.rejects(run(...words), { message, status: 2 })
  })
