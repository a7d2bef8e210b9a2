/** How long requests under way are waited for when a server closes, in ms. */
export const GRACE_MS = 9000;

/** How long what does not end by then has to answer that it will not, in ms; then its way in answers for it. */
export const LAST_WORDS_MS = 500;
