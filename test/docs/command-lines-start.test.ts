import t from 'tap'
import { runGuides } from '../fixtures/guides.ts'

await runGuides(t, ['README.md', 'docs/quick-start.md', 'docs/runtime.md'])
