// How pages are ranked in the search: a page whose title or heading has the words is before the reference of names.
const Scorer = {
  score: ([docname, title, anchor, descr, score, filename]) =>
    score - (docname.startsWith("reference/") ? 12 : 0) + (docname.startsWith("encodings/") ? 4 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
