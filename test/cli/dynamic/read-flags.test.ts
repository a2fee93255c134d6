import t from 'tap'
import { toFields } from '../../../cli/dynamic/fields.ts'
import { readFlags, splitWords } from '../../../cli/dynamic/read-flags.ts'
import { DESCRIBED } from '../../fixtures/described-endpoint.ts'

const FIELDS = toFields(DESCRIBED)

function read(...flags: string[]) {
  const { fields, local } = readFlags(flags, FIELDS, 'mirror show')
  return {
    fields: Object.fromEntries([...fields].map(([{ path }, texts]) => [path.join('.'), texts])),
    local,
  }
}

t.test('the words before the first flag name the endpoint', async (t) => {
  t.same(splitWords(['a', 'b', '--c', 'd']), { words: ['a', 'b'], flags: ['--c', 'd'] })
  t.same(splitWords(['a', '-']), { words: ['a'], flags: ['-'] })
  t.same(splitWords([]), { words: [], flags: [] })
})

t.test('a value follows = or a space, and may contain =', async (t) => {
  t.same(read('--name=a=b').fields, { name: ['a=b'] })
  t.same(read('--name', 'a', '--count', '-5').fields, { name: ['a'], count: ['-5'] })
  t.same(read('--tags=a', '--tags', 'b').fields, { tags: ['a', 'b'] })
  t.same(read('--is_open', '--name=').fields, { is_open: [''], name: [''] })
})

t.test(
  '_, - and . are equivalent in flags; a dot selects one of two fields with the same flag',
  async (t) => {
    for (const flag of ['--options_max_age', '--options-max-age', '--options.max_age'])
      t.same(read(flag, '5').fields, { 'options.max_age': ['5'] })
    t.same(read('--is-open').fields, { is_open: [''] })
    t.same(read('--options.domain=x').fields, { 'options.domain': ['x'] })
    t.same(read('--options={}').fields, { options: ['{}'] })
  },
)

t.test('a field takes precedence over a flag of mx with the same name', async (t) => {
  t.same(read('--env=prod', '-o', 'yaml', '--json', '{}'), {
    fields: { env: ['prod'] },
    local: { output: 'yaml', json: '{}' },
  })
  t.same(read('-oraw', '-', '-h').local, { output: 'raw', json: '-', help: '' })
})

t.test('an unknown flag is rejected with a suggestion', async (t) => {
  const hint = " See 'mx mirror show --help'"
  for (const [flags, message] of [
    [['--nmae=a'], `Unknown flag: nmae, did you mean --name?${hint}`],
    [
      ['--options_max_aeg=a'],
      `Unknown flag: options_max_aeg, did you mean --options_max_age?${hint}`,
    ],
    [['--zzzzz=a'], `Unknown flag: zzzzz.${hint}`],
    [['--name'], `--name needs a value.${hint}`],
    [['--name', '--count=1'], `--name needs a value.${hint}`],
    [['--name=a', 'b'], /^unexpected argument "b": fields are flags/],
  ] as const)
    t.throws(() => read(...flags), { message, status: 2 })
})
