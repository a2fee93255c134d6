import type { DraftKey } from '../state/draft-storage.ts'

/** Draft of the form that explains a request. */
export const EXPLAIN_DRAFT: DraftKey = ['gateway', 'explain']

export const NO_REQUEST = { method: 'GET', path: '', headers: '', body: '', asCaller: true }
