import t from 'tap'
import { defineCommand } from '../../cli/command.ts'
import { COMMANDS } from '../../cli/commands.gen.ts'

const calls: unknown[] = []
const command = defineCommand({
  name: 'notes',
  description: 'Manage notes',
  flags: { '-v, --verbose': 'Also the author', '--tag <name>...': 'Tag of the note' },
  examples: [],
  subcommands: {
    'add note <title> [text]': async ([title, text], { verbose, tag }) => {
      calls.push([title, text, verbose, tag])
    },
    'delete <title>...': async (titles) => {
      calls.push(titles)
    },
  },
  rawSubcommands: {
    'import <file>': async (args) => {
      calls.push(args)
    },
  },
})
t.beforeEach(() => {
  calls.length = 0
})

t.test('every command has a one-line description and at least two examples', async (t) => {
  for (const { name, load } of COMMANDS) {
    const { description, examples } = await load()
    t.match(description, /^[A-Z][^\n]*[^.\n]$/, name)
    t.ok(examples.length >= 2, `${name}: ${examples.length} examples`)
  }
})

t.test('usage and completion list the declared subcommands', async (t) => {
  t.equal(command.usage, '<add note <title> [text] | delete <title>... | import <file>>')
  t.same(command.phrases, ['add note', 'delete', 'import'])
})

t.test('a subcommand gets its arguments and the values of its flags', async (t) => {
  await command.run(['add', 'note', 'a', '-v', '--tag=x', '--tag', 'y'])
  await command.run(['delete', 'a', 'b'])
  t.same(calls, [
    ['a', undefined, true, ['x', 'y']],
    ['a', 'b'],
  ])
})

t.test('a raw subcommand gets its arguments as typed', async (t) => {
  await command.run(['import', '--unknown', 'file'])
  t.same(calls, [['--unknown', 'file']])
})

t.test('a command without usage rejects arguments', async (t) => {
  const clock = defineCommand({ name: 'clock', description: '', examples: [], run: () => {} })
  await clock.run([])
  await t.rejects(clock.run(['x']), {
    message: "Too many arguments, expected no arguments, got x. See 'mx clock --help'",
    status: 2,
  })
})

t.test('the fixed words at the start of a usage are completed, placeholders are not', async (t) => {
  for (const [usage, phrases] of [
    ['[service | plugin] <name>', ['service', 'plugin']],
    ['client <service>...', ['client']],
    ['<service> [<request> | -]', []],
    ['[id]', []],
  ] as const)
    t.same(defineCommand({ name: 'x', description: '', examples: [], usage }).phrases, phrases)
})
