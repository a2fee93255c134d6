import t from 'tap'
import { runGuides } from '../fixtures/guides.ts'

await runGuides(t, ['docs/config.md', 'docs/events.md', 'docs/store.md'])
