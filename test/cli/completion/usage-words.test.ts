import t from 'tap'
import { listUsageWords } from '../../../cli/completion/usage-words.ts'

t.test('the words of a usage: alternatives, those that may follow, and no arguments', (t) => {
  for (const [usage, words] of [
    [
      'auth <list rules | create rule <id> | test <service> <endpoint>> [flags]',
      ['list rules', 'create rule', 'test'],
    ],
    [
      'user [token | namespace [set <name>] | set password] [flags]',
      ['token', 'namespace set', 'set password'],
    ],
    ['store <read [key] | list> [flags]', ['read', 'list']],
    ['gen client <service>... [flags]', ['client']],
    ['new [service | plugin] <name>', ['service', 'plugin']],
    ['run <folder, file or name>[@<commit>] [flags]', ['']],
    ['login [id] [flags]', ['']],
    ['server [flags]', ['']],
  ] as const)
    t.same(
      listUsageWords(usage).map((each) => each.join(' ')),
      words,
      usage,
    )
  t.end()
})
