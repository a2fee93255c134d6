import t from 'tap'
import { formatTable } from '../../cli/table.ts'

t.test(
  'columns are filled up with tabs, to where the longest cell ends, and more between them',
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

t.test('a cell as wide as a tab stop has one tab', async (t) => {
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
