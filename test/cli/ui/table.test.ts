import t from 'tap'
import { formatTable } from '../../../cli/ui/table.ts'

/** Number of columns that a line occupies on a terminal. */
function toColumns(line: string): number {
  let at = 0
  for (const character of line) at = character === '\t' ? at + 8 - (at % 8) : at + 1
  return at
}

t.test(
  'columns are aligned with tabs to the longest cell, with extra tabs between them',
  async (t) => {
    const rows = [
      ['ID', 'Scope', 'Access'],
      ['default', '<public>', 'GRANTED'],
      ['a-longer-name', '*', 'DENIED'],
    ]
    t.equal(
      formatTable(rows, 1),
      'ID\t\t\tScope\t\t\tAccess\ndefault\t\t\t<public>\t\tGRANTED\na-longer-name\t\t*\t\t\tDENIED\n',
    )
  },
)

t.test('a cell as wide as a tab stop is followed by one tab', async (t) => {
  t.equal(
    formatTable(
      [
        ['12345678', 'x'],
        ['1', 'y'],
      ],
      0,
    ),
    '12345678\tx\n1\t\ty\n',
  )
})

const ROWS = [
  ['NAME', 'SOURCE', 'STATUS', 'METADATA'],
  ['helloworld', 'github.com/somebody/helloworld', 'running', 'owner=admin, group=mx, a=b'],
]

t.test('on a narrow terminal the widest cells are shortened first', (t) => {
  const lines = formatTable(ROWS, 0, 60).trimEnd().split('\n')
  t.same(lines, [
    'NAME        SOURCE              STATUS   METADATA',
    'helloworld  github.com/somebo…  running  owner=admin, group…',
  ])
  for (let width = 40; width < 120; width++)
    for (const line of formatTable(ROWS, 0, width).trimEnd().split('\n'))
      t.ok(toColumns(line) <= width, `${width}: ${line}`)
  t.end()
})

t.test('a table that fits, or is not on a terminal, is not shortened', (t) => {
  const complete = formatTable(ROWS, 0, Number.POSITIVE_INFINITY)
  t.match(complete, 'github.com/somebody/helloworld\trunning\towner=admin, group=mx, a=b\n')
  t.equal(formatTable(ROWS, 0, 90), complete)
  t.equal(formatTable(ROWS, 0), complete, 'the width of this process is unlimited')
  t.end()
})

t.test('cells are not shortened below their minimum width', (t) => {
  t.same(formatTable(ROWS, 0, 10).trimEnd().split('\n'), [
    'NAME      SOURCE    STATUS   METADATA',
    'hellowo…  github.…  running  owner=a…',
  ])
  t.end()
})

t.test('control characters are replaced by spaces', (t) => {
  t.equal(formatTable([['a\tb', 'c\nd', '\u001b[31mred']], 0), 'a b\tc d\t [31mred\n')
  t.end()
})

t.test('wide characters count as two columns', async (t) => {
  const rows = [
    ['日本語サービス', 'x'],
    ['plain', 'y'],
  ]
  t.equal(formatTable(rows, 0), '日本語サービス\tx\nplain\t\ty\n')
  t.equal(formatTable([['名前', '日本語サービス']], 0, 14), '名前  日本語…\n')
})
