import t from 'tap'
import { runGuides } from '../fixtures/guides.ts'
import { skipUnless } from '../fixtures/servers.ts'

const node = skipUnless(t, 'node22')
if (node !== undefined) await runGuides(t, ['README.md', 'docs/quick-start.md'], node)
