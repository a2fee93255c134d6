import t from 'tap'
import { typeGuides } from '../fixtures/guides.ts'

await typeGuides(t, ['docs/config.md', 'docs/events.md', 'docs/store.md'])
